"""An intake with an inbox that a test can hold, break and look into."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from landfast.caches.local import LocalSeen
from landfast.domain.answer import Answer
from landfast.domain.census import SourceTally, TallyReport
from landfast.domain.delivery import Delivery, Head, Headers, Recorded
from landfast.domain.errors import InboxUnavailableError, RowRefusedError
from landfast.domain.ids import BootId, EventId
from landfast.intake.counting.tally import Tally
from landfast.intake.policy.admission import Admission
from landfast.intake.policy.unproven import Unproven
from landfast.intake.receive import Intake
from landfast.intake.record import GroupCommit
from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.providers.profile import Profile
from landfast.testing.clock import ManualClock
from landfast.testing.signing import sample, sign
from tests.patience import PATIENCE_SECONDS

SECRET = "whsec_shop"


class MemoryRecorder:
    """`ports.inbox.Recorder` in memory: all of a batch or nothing, the first delivery of an event is new."""

    boot = BootId(b"boot-one")

    def __init__(self) -> None:
        self.events: dict[EventId, Delivery] = {}
        self.batches: list[Sequence[Delivery]] = []
        self.reports: list[TallyReport] = []
        self.is_down = False
        self.poison: bytes | None = None
        self.bug: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.entered = asyncio.Event()
        self.at_once = 0

    async def hazards(self) -> Sequence[str]:
        return []

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        self.at_once += 1
        assert self.at_once == 1, "one record() at a time"
        try:
            self.batches.append(deliveries)
            self.entered.set()
            await self.gate.wait()
            await asyncio.sleep(0)  # no inbox answers within the same turn of the loop
            self._complain(deliveries)
            return [self._insert(delivery) for delivery in deliveries]
        finally:
            self.at_once -= 1

    async def record_drained(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        return await self.record(deliveries)

    async def tally(self, report: TallyReport) -> None:
        if self.is_down:
            raise InboxUnavailableError("away")
        self.reports.append(report)

    def _complain(self, deliveries: Sequence[Delivery]) -> None:
        if self.bug:
            raise self.bug
        if self.is_down:
            raise InboxUnavailableError("away")
        if self.poison and any(self.poison in delivery.body for delivery in deliveries):
            raise RowRefusedError("a row")

    def _insert(self, delivery: Delivery) -> Recorded:
        is_new = delivery.event_id not in self.events
        self.events.setdefault(delivery.event_id, delivery)
        return Recorded(delivery.event_id, is_new)


class CountingWakeup:
    def __init__(self) -> None:
        self.nudges = 0

    def nudge(self) -> None:
        self.nudges += 1

    async def wait(self, seconds: float) -> None: ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...


def source(name: str = "stripe", provider_name: str = "stripe", *, secret: str = SECRET, body_limit: int = 0) -> Source:
    profile = provider(provider_name)
    return Source(name, profile, (Secret("first", profile.decode_secret(secret)),), body_limit=body_limit)


class WatchedScheme:
    """A scheme that remembers which threads verified by it."""

    def __init__(self, scheme: Any) -> None:
        self._scheme = scheme
        self.threads: list[threading.Thread] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheme, name)

    def verify(self, *arguments: Any) -> Any:
        self.threads.append(threading.current_thread())
        return self._scheme.verify(*arguments)


class SlowScheme(WatchedScheme):
    """A scheme that takes as long as the test wants."""

    def __init__(self, scheme: Any) -> None:
        super().__init__(scheme)
        self.has_begun, self.may_end = threading.Event(), threading.Event()

    def verify(self, *arguments: Any) -> Any:
        self.has_begun.set()
        assert self.may_end.wait(PATIENCE_SECONDS)
        return super().verify(*arguments)


def watched(given: Source, watching: type[WatchedScheme] = WatchedScheme) -> tuple[Source, Any]:
    """The source, and its scheme, which is watched."""
    profile = cast("Profile", given.provider)
    scheme = watching(profile.scheme)
    return replace(given, provider=replace(profile, scheme=cast("Any", scheme))), scheme


@dataclass
class Desk:
    sources: tuple[Source, ...] = field(default_factory=lambda: (source(), source("slack", "slack")))
    budget: int = 64 * 1024 * 1024
    recorder: MemoryRecorder = field(default_factory=MemoryRecorder)
    seen: LocalSeen = field(default_factory=LocalSeen)
    wakeup: CountingWakeup = field(default_factory=CountingWakeup)
    clock: ManualClock = field(default_factory=ManualClock)
    rules: dict[str, Any] = field(default_factory=dict)
    """Of `Admission`, such as https_only."""
    unproven: Unproven = field(default_factory=Unproven)

    def __post_init__(self) -> None:
        self.group = GroupCommit(self.recorder, seen=self.seen, wakeup=self.wakeup, budget=self.budget)
        names = [each.name for each in self.sources]
        self.tally = Tally(self.recorder, boot=BootId(b"boot-one"), clock=self.clock, sources=names)
        self.admission = Admission(self.sources, clock=self.clock, **self.rules)
        self.intake = Intake(
            self.sources,
            recorder=self.group,
            seen=self.seen,
            tally=self.tally,
            clock=self.clock,
            admission=self.admission,
            unproven=self.unproven,
        )

    def headers(self, body: bytes, *, provider_name: str = "stripe", ago: float = 0) -> dict[str, str]:
        return sign(provider_name, body, SECRET, now=self.clock.now().timestamp() - ago)

    def head(
        self, body: bytes, *, path: str = "/in/stripe", method: str = "POST", ago: float = 0, **extra: str
    ) -> Head:
        headers = self.headers(body, ago=ago) | {name.replace("_", "-"): value for name, value in extra.items()}
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        return Head(method, path, "", Headers(pairs), len(body))

    def receive(self, body: bytes) -> Answer | asyncio.Future[Answer]:
        """The answer, or a future where it has to wait for the COMMIT."""
        later: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def answered(answer: Answer) -> None:
            if not later.cancelled():
                later.set_result(answer)

        return self.intake.receive(self.intake.admit(self.head(body)), body, answered) or later

    async def deliver(self, body: bytes) -> Answer:
        return await self.intake.respond(self.intake.admit(self.head(body)), body)

    def count(self, name: str = "stripe") -> SourceTally:
        return self.tally.totals().get(name, SourceTally())

    def is_balanced(self) -> bool:
        total = sum(self.tally.totals().values(), SourceTally())
        return total.received == total.stored + total.duplicate + total.rejected


def body(number: int = 1) -> bytes:
    return sample("stripe", id=f"evt_{number}")
