"""Keys that a signature names by an address of the provider's: fetched off the event loop, and kept for a while.

A stranger can make us fetch, so that is bounded in every way: only addresses that the scheme checked, few at a time,
few in a minute, small, within a deadline, without redirects; and what was not there is not asked for again soon. Each
provider has a budget of its own, so that nobody's invented addresses cost another provider its keys. An address that no
request can choose needs none, and has a thread of its own; it is fetched before the first request comes.

A key that was fetched once is kept over restarts (`key_folder`), and expires when it would have without a restart. Its
address stays known after that, so that no stranger's invented ones can use up its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from landfast import telemetry
from landfast.domain.errors import OverloadedError, UnverifiedError
from landfast.intake.keys.fetch import certified, fetch_https
from landfast.intake.keys.key_folder import KeptKey, KeyFolder
from landfast.ports.clock import Clock
from landfast.ports.fetch import Fetch
from landfast.ports.provider import KeyNeeded

FETCH_SECONDS = 3.0
"""Seconds; the most impatient senders that have such keys wait ten."""

KEY_LIFETIME_SECONDS = 3_600.0
"""Seconds that a document is used. A key that was withdrawn counts for so much longer."""

FAILURE_SECONDS = 30.0
"""Seconds that a failure is remembered: less than the first retry of any sender takes."""

FRESH_KEYS_SECONDS = 60.0
"""Seconds in which a set of keys is not asked for again because of a key id that it does not have."""

KEPT_DOCUMENTS = 64
"""Documents. A provider has one or two at a time."""

FETCHES_AT_ONCE = 4
FETCHES_PER_MINUTE = 30
"""Fetches for one provider; genuine senders cause about one in an hour."""

FETCHES_WITH_CREDENTIALS_PER_MINUTE = 3
"""The same where they are sent along: an invented key id costs the operator's own quota there."""

REQUESTS_WAITING_FOR_A_KEY = 256
"""Requests that wait for one key. Their signatures are not checked yet, so a stranger's may be among them; with the
largest bodies that such senders have, 256 KiB, it is 64 MB."""

Then = Callable[[Exception | None], None]
"""Told once the key is there, or why it is not."""


class _Kept(NamedTuple):
    document: bytes | None
    """None where there never was one."""
    at: float
    tried_at: float


class PublishedKeys(Mapping[str, bytes]):
    def __init__(self, clock: Clock, fetch: Fetch = fetch_https, folder: KeyFolder | None = None) -> None:
        self._clock = clock
        self._fetch = fetch
        self._folder = folder
        self._kept: dict[str, _Kept] = {}
        for key in () if folder is None else folder.load():
            at = min(key.fetched_at, self._now())  # of a clock that was ahead then
            self._kept[key.address] = _Kept(key.document, at, at)
        self._waiting: dict[str, list[Then]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._fetching: dict[str, str] = {}
        """Whose each address is that is being fetched."""
        self._minutes: dict[str, tuple[float, int]] = {}
        self._threads: dict[str, ThreadPoolExecutor] = {}

    def __getitem__(self, url: str) -> bytes:
        kept = self._kept[url]
        if kept.document is None or self._now() - kept.at > KEY_LIFETIME_SECONDS:
            raise KeyError(url)
        return kept.document

    def __iter__(self) -> Iterator[str]:
        return iter([url for url in self._kept if url in self])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def fetch_ahead(self, url: str, owner: str) -> None:
        """Have an address fetched that no request can choose, before one needs it."""
        if url not in self and url not in self._waiting:
            self._begin(KeyNeeded(url, is_fixed=True), owner, [])

    def need(self, needed: KeyNeeded, then: Then, *, owner: str = "") -> Exception | None:
        """Have it fetched for a provider, unless somebody does already. Why it is not to be had, if that is known at
        once; otherwise None, and `then` is told later, never before this returns."""
        refusal = self._refusal(needed)
        if refusal is not None:
            return refusal
        if needed.url in self._waiting:
            if len(self._waiting[needed.url]) >= REQUESTS_WAITING_FOR_A_KEY:
                return OverloadedError("too many wait for this key")
            self._waiting[needed.url].append(then)
            return None
        if not needed.is_fixed and not self._is_known(needed.url) and not self._is_within_budget(needed, owner):
            return OverloadedError("too many keys are being fetched")
        self._begin(needed, owner, [then])
        return None

    def visit(self, url: str, source: str) -> None:
        """Open the address of a handshake, once."""
        self._start(self._open(url, source))

    def _refusal(self, needed: KeyNeeded) -> Exception | None:
        kept = self._kept.get(needed.url)
        if kept is None or self._now() - kept.tried_at >= (
            FRESH_KEYS_SECONDS if needed.is_outdated else FAILURE_SECONDS
        ):
            return None
        if needed.is_outdated:
            return UnverifiedError("the signature names a key that the provider does not publish")
        return OverloadedError(f"the key at {needed.url} could not be fetched just now")

    def _is_known(self, url: str) -> bool:
        """Whether there was a document once. Those are few and are asked for seldom, so strangers who have us ask for
        what is not there cannot use up their turn."""
        kept = self._kept.get(url)
        return kept is not None and kept.document is not None

    def _is_within_budget(self, needed: KeyNeeded, owner: str) -> bool:
        if list(self._fetching.values()).count(owner) >= FETCHES_AT_ONCE:
            return False
        since, count = self._minutes.get(owner, (0.0, 0))
        if self._now() - since > 60:
            since, count = self._now(), 0
        self._minutes[owner] = (since, count + 1)
        return count < (FETCHES_PER_MINUTE if needed.post is None else FETCHES_WITH_CREDENTIALS_PER_MINUTE)

    def _begin(self, needed: KeyNeeded, owner: str, waiting: list[Then]) -> None:
        self._waiting[needed.url] = waiting
        self._fetching[needed.url] = f"{owner}, fixed" if needed.is_fixed else owner
        self._start(self._get(needed))

    async def _get(self, needed: KeyNeeded) -> None:
        error: Exception | None = None
        document: bytes | None = None
        try:
            document = await self._document(needed.url, needed.post, self._fetching[needed.url])
            await asyncio.to_thread(certified, document, needed.certificate_for, self._clock.now())
            if self._folder is not None:
                await asyncio.to_thread(self._folder.keep, KeptKey(needed.url, document, self._now()))
        except Exception as failure:  # noqa: BLE001 - whatever a document does to a parser, those who wait are told
            document = None
            error = OverloadedError(f"the key at {needed.url} cannot be had: {failure or type(failure).__name__}")
            telemetry.warn("key_not_fetched", address=needed.url, error=failure or type(failure).__name__)
        del self._fetching[needed.url]
        self._keep(needed.url, document)
        for then in self._waiting.pop(needed.url):
            try:
                then(error)
            except Exception as failure:  # noqa: BLE001 - one connection that fails must not keep the others waiting
                telemetry.error("answer_failed", trace=failure)

    async def _open(self, url: str, source: str) -> None:
        try:
            await self._document(url, None, f"{source}, visit")
        except OSError as failure:
            telemetry.warn("subscription_not_confirmed", source=source, error=failure or type(failure).__name__)
        else:
            telemetry.info("subscription_confirmed", source=source)

    async def _document(self, url: str, post: bytes | None, owner: str) -> bytes:
        threads = self._threads.get(owner)
        if threads is None:  # of its own: a fetch that hangs keeps no other provider's waiting
            threads = self._threads[owner] = ThreadPoolExecutor(FETCHES_AT_ONCE, thread_name_prefix="landfast-key")
        work = asyncio.get_running_loop().run_in_executor(threads, self._fetch, url.partition("#")[0], post)
        async with asyncio.timeout(FETCH_SECONDS):  # its TimeoutError is an OSError
            return await work

    def _keep(self, url: str, document: bytes | None) -> None:
        now, before = self._now(), self._kept.pop(url, None)
        while len(self._kept) >= KEPT_DOCUMENTS:
            absent = (each for each, kept in self._kept.items() if kept.document is None)
            del self._kept[next(absent, None) or next(iter(self._kept))]
        if document is None and before is not None:  # what was had before counts to the end of its own time
            self._kept[url] = before._replace(tried_at=now)
        else:
            self._kept[url] = _Kept(document, now, now)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop itself holds tasks only weakly
        task.add_done_callback(self._tasks.discard)

    def _now(self) -> float:
        return self._clock.now().timestamp()
