"""What all workers agree on through the inbox: which breakers are open, and what operators have paused.

    this worker                        the inbox                    another worker
    breaker opens    ── tell ──>   switch in force    ── hear ──>   its breaker is open for 1 s, then it probes itself
    breaker closes   ── tell ──>   switch is gone     ── hear ──>   its breaker is half open: the next event probes

A worker whose switch turns out to be wrong, because our own probe succeeded, is doubted: for half a minute its switches
are not heard. While the inbox itself is away, nobody agrees on anything, and each worker finds out by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from landfast import telemetry
from landfast.domain.errors import StoreError
from landfast.domain.switch import Switch, SwitchKind
from landfast.ports.clock import Clock
from landfast.ports.inbox import Inbox
from landfast.processing.control.breakers import Breakers
from landfast.processing.handlers.registry import Handler
from landfast.processing.work import Paused

SWITCH_POLL_SECONDS = 1.0
"""What a pause, or somebody else's breaker, takes to reach this worker."""

HEARD_BREAKER_SECONDS = 1.0
"""Another worker's open breaker stops us for so long. Then we try for ourselves: our own probes say how long to wait
for a database that is away for all."""

DOUBT_SECONDS = 30.0
"""For so long a worker is not heard after our probe succeeded while its breaker was open. A machine that alone has lost
its way to the database must not stop the others again and again."""

RESUME_LINGER_SECONDS = 5.0
"""After a switch is gone we go on looking for what it had paused: a worker may be pausing an event for it right now."""

RESUME_SCAN_SECONDS = 30.0
"""No event waits longer for a switch that ran out while no worker was there to see it. To look through half a million
events that must still wait takes 0.2 s."""

RESUME_BATCH_EVENTS = 1_000
"""Events that one statement makes ready, so that no claim waits for a whole backlog."""

PROBE_EVENTS = 10
"""Events that are made ready while a breaker is open. One has to be the probe; more of them would only wait again."""


@dataclass(slots=True)
class Pauses:
    """What operators have switched off, by name, as this worker heard last."""

    sources: Mapping[str, Switch] = field(default_factory=dict)
    handlers: Mapping[str, Switch] = field(default_factory=dict)
    dependencies: Mapping[str, Switch] = field(default_factory=dict)

    def switch_of(self, handler: Handler) -> Switch | None:
        """The one that it is switched off by, or its source."""
        return self.sources.get(handler.source) or self.own_switch_of(handler)

    def own_switch_of(self, handler: Handler) -> Switch | None:
        """The one that it is switched off by, or what it uses; whatever its source is."""
        return self.handlers.get(handler.name) or self.switch_of_any(handler.uses)

    def switch_of_any(self, dependencies: Iterable[str]) -> Switch | None:
        if not self.dependencies:
            return None
        return next((switch for name in dependencies if (switch := self.dependencies.get(name))), None)

    def taken_back(self, handlers: Iterable[Handler]) -> set[str]:
        """The names of those that an operator paused at once: what they have in hand is taken back."""
        switches = {handler.name: self.switch_of(handler) for handler in handlers}
        return {name for name, switch in switches.items() if switch is not None and switch.at_once}

    def of(self, handler: Handler) -> Paused | None:
        """What its events come to, if it is switched off."""
        switch = self.switch_of(handler)
        return None if switch is None else Paused(switch.reason, switch.why)


@dataclass(slots=True)
class Switches:
    bench: Inbox
    breakers: Breakers
    pauses: Pauses
    clock: Clock
    who: str
    resumed: Callable[[], None] = lambda: None
    """Called when paused events are ready again."""
    recall: Callable[[], None] = lambda: None
    """Called when it was heard what is paused."""
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the inbox has said for the first time what is switched off."""
    heard_at: float = float("-inf")
    """When the inbox said so last, by the monotonic clock."""
    _heard: Mapping[tuple[SwitchKind, str], Switch] = field(default_factory=dict)
    _heard_from: dict[str, str] = field(default_factory=dict)
    """Which worker opened a breaker that is open here, by the breaker's name."""
    _doubted_until: dict[str, float] = field(default_factory=dict)
    """By worker."""
    _resumed_at: float = float("-inf")
    _lingers_until: float = float("-inf")

    async def look(self) -> None:
        """Tell, hear, and make ready what waits for nothing any more. Others notice when the inbox is away."""
        try:
            await self._tell()
            self._hear(await self.bench.switches())
            await self._resume()
        except StoreError:
            return

    async def _tell(self) -> None:
        """Crash after a switch was thrown: it runs out by itself. Before it was released: the same."""
        self.breakers.changed.clear()
        for name in sorted(self.breakers.untold):
            self.breakers.untold.discard(name)
            try:
                await self._tell_of(name)
            except StoreError:
                self.breakers.untold.add(name)
                raise

    async def _tell_of(self, name: str) -> None:
        breaker = self.breakers.breaker(name)
        if not breaker.is_open:
            if teller := self._heard_from.pop(name, None):
                self._doubted_until[teller] = self.clock.monotonic() + DOUBT_SECONDS
            await self.bench.lift(SwitchKind.BREAKER, name)
        elif wait := breaker.remaining(self.clock.monotonic()):
            await self.bench.throw(SwitchKind.BREAKER, name, why=breaker.why, who=self.who, lasting=wait)

    def _hear(self, switches: Sequence[Switch]) -> None:
        now = {(switch.kind, switch.name): switch for switch in switches}
        by_kind: dict[SwitchKind, dict[str, Switch]] = {kind: {} for kind in SwitchKind}
        for (kind, name), switch in now.items():
            by_kind[kind][name] = switch
        self.pauses.sources = by_kind[SwitchKind.SOURCE]
        self.pauses.handlers = by_kind[SwitchKind.HANDLER]
        self.pauses.dependencies = by_kind[SwitchKind.DEPENDENCY]
        for (kind, name), switch in now.items():
            if kind is SwitchKind.BREAKER and switch != self._heard.get((kind, name)):
                self._hear_of(switch)
        for kind, name in self._heard.keys() - now.keys():
            self._lingers_until = self.clock.monotonic() + RESUME_LINGER_SECONDS
            if kind is SwitchKind.BREAKER:
                self.breakers.half_open(name)
        self._heard = now
        self.heard_at = self.clock.monotonic()
        self.heard.set()
        self.recall()

    def _hear_of(self, breaker: Switch) -> None:
        if breaker.who == self.who or self.clock.monotonic() < self._doubted_until.get(breaker.who, float("-inf")):
            return
        self._doubted_until.pop(breaker.who, None)
        self._heard_from[breaker.name] = breaker.who
        self.breakers.hear(breaker.name, min(HEARD_BREAKER_SECONDS, _seconds(breaker)), breaker.why, breaker.who)

    async def _resume(self) -> None:
        now = self.clock.monotonic()
        if now > self._lingers_until and now - self._resumed_at < RESUME_SCAN_SECONDS:
            return  # to look through a large backlog costs more than to read a few switches
        self._resumed_at = now
        is_probing = bool(self.breakers.opened)
        limit = PROBE_EVENTS if is_probing else RESUME_BATCH_EVENTS
        while count := await self.bench.resume(limit=limit):
            telemetry.info("resumed", count=count)
            self.resumed()
            if is_probing or count < limit:
                return


def _seconds(switch: Switch) -> float:
    """By the clock of the machine that threw it: ours may be another."""
    return HEARD_BREAKER_SECONDS if switch.until is None else (switch.until - switch.at).total_seconds()
