"""Keys that a signature names by an address of the provider's: fetched off the event loop, and kept for a while.

A stranger can make us fetch, so that is bounded in every way: only addresses that the scheme checked, few at a time,
few in a minute, small, within a deadline, without redirects; and what was not there is not asked for again soon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, NamedTuple

from landfast import telemetry
from landfast.domain.errors import OverloadedError, UnverifiedError
from landfast.intake.fetch import certified, fetch_https
from landfast.ports.clock import Clock
from landfast.ports.keys import Fetch
from landfast.ports.provider import KeyNeeded

DEADLINE = 3.0
"""Seconds; the most impatient senders that have such keys wait ten."""

LIFETIME = 3_600.0
"""Seconds that a document is used. A key that was withdrawn counts for so much longer."""

ABSENCE = 30.0
"""Seconds that a failure is remembered: less than the first retry of any sender takes."""

YOUNG = 60.0
"""Seconds in which a set of keys is not asked for again because of a key id that it does not have."""

MOST = 64
"""Documents. A provider has one or two at a time."""

AT_ONCE = 4
IN_A_MINUTE = 30
"""Fetches; genuine senders cause about one in an hour."""

WAITING = 256
"""Requests that wait for one key. Their signatures are not checked yet, so a stranger's may be among them; with the
largest bodies that such senders have, 256 KiB, it is 64 MB."""

Then = Callable[[Exception | None], None]
"""Told once the key is there, or why it is not."""


class _Kept(NamedTuple):
    document: bytes | None
    """None where there never was one."""
    at: float
    tried_at: float


class Keys(Mapping[str, bytes]):
    def __init__(self, clock: Clock, fetch: Fetch = fetch_https) -> None:
        self._clock = clock
        self._fetch = fetch
        self._kept: dict[str, _Kept] = {}
        self._waiting: dict[str, list[Then]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._minute = (0.0, 0)

    def __getitem__(self, url: str) -> bytes:
        kept = self._kept[url]
        if kept.document is None or self._now() - kept.at > LIFETIME:
            raise KeyError(url)
        return kept.document

    def __iter__(self) -> Iterator[str]:
        return iter([url for url in self._kept if url in self])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def need(self, needed: KeyNeeded, then: Then) -> Exception | None:
        """Have it fetched, unless somebody does already. Why it is not to be had, if that is known at once; otherwise
        None, and `then` is told later, never before this returns."""
        refusal = self._refusal(needed)
        if refusal is not None:
            return refusal
        if needed.url in self._waiting:
            if len(self._waiting[needed.url]) >= WAITING:
                return OverloadedError("too many wait for this key")
            self._waiting[needed.url].append(then)
            return None
        if not self._is_known(needed.url) and (len(self._waiting) >= AT_ONCE or not self._is_within_rate()):
            return OverloadedError("too many keys are being fetched")
        self._waiting[needed.url] = [then]
        self._start(self._get(needed))
        return None

    def visit(self, url: str, source: str) -> None:
        """Open the address of a handshake, once."""
        self._start(self._open(url, source))

    def _refusal(self, needed: KeyNeeded) -> Exception | None:
        kept = self._kept.get(needed.url)
        if kept is None or self._now() - kept.tried_at >= (YOUNG if needed.is_outdated else ABSENCE):
            return None
        if needed.is_outdated:
            return UnverifiedError("the signature names a key that the provider does not publish")
        return OverloadedError(f"the key at {needed.url} could not be fetched just now")

    def _is_known(self, url: str) -> bool:
        """Whether there was a document once. Those are few and are asked for seldom, so strangers who have us ask for
        what is not there cannot use up their turn."""
        kept = self._kept.get(url)
        return kept is not None and kept.document is not None

    def _is_within_rate(self) -> bool:
        since, count = self._minute
        if self._now() - since > 60:
            since, count = self._now(), 0
        self._minute = (since, count + 1)
        return count < IN_A_MINUTE

    async def _get(self, needed: KeyNeeded) -> None:
        error: Exception | None = None
        document: bytes | None = None
        try:
            document = await self._document(needed.url, needed.post)
            await asyncio.to_thread(certified, document, needed.certificate_for, self._clock.now())
        except Exception as failure:  # noqa: BLE001 - whatever a document does to a parser, those who wait are told
            document = None
            error = OverloadedError(f"the key at {needed.url} cannot be had: {failure or type(failure).__name__}")
            telemetry.warn("no key", address=needed.url, reason=failure or type(failure).__name__)
        self._keep(needed.url, document)
        for then in self._waiting.pop(needed.url):
            try:
                then(error)
            except Exception as failure:  # noqa: BLE001 - one connection that fails must not keep the others waiting
                telemetry.error("an answer could not be given", trace=failure)

    async def _open(self, url: str, source: str) -> None:
        try:
            await self._document(url, None)
        except OSError as failure:
            telemetry.warn("the subscription is not confirmed", source=source, reason=failure or type(failure).__name__)
        else:
            telemetry.info("the subscription is confirmed", source=source)

    async def _document(self, url: str, post: bytes | None) -> bytes:
        async with asyncio.timeout(DEADLINE):  # its TimeoutError is an OSError
            return await asyncio.to_thread(self._fetch, url.partition("#")[0], post)

    def _keep(self, url: str, document: bytes | None) -> None:
        now, before = self._now(), self._kept.pop(url, None)
        while len(self._kept) >= MOST:
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
