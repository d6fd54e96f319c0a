"""What is broken right now, as this worker knows it: the ledger for everybody, or what one handler needs.

`processing.control.dependencies` knows more of what handlers and effects name as theirs, and has its breakers here.
`processing.control.switches` tells the other workers what opens here, and tells us what opens there.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from landfast import telemetry
from landfast.domain.breaker import Breaker
from landfast.domain.fault import Fault
from landfast.domain.ids import EventId, HandlerName
from landfast.domain.outcome import Tries
from landfast.domain.switch import SwitchKind, pause_reason
from landfast.ports.clock import Clock
from landfast.processing.handlers.error_text import line_of, logged
from landfast.processing.judge import is_away
from landfast.processing.work import Buried, Deferred, Done, Failed, Paused, Result, Work

LEDGER_BREAKER = "ledger"
"""The breaker that stops every claim."""

HANDLER_PREFIX = "handler:"
DEPENDENCY_PREFIX = "dependency:"

RECENT_EVENTS = 20
"""So many of a handler's last events are remembered: enough to tell an outage from bad luck, and soon forgotten."""

AWAY_EVENTS_TO_OPEN = 10
"""The breaker opens when so many of them found something away at their last attempt: half of what was tried. Events are
counted and not attempts, so that one event whose requests are always answered 503 stops nobody."""


DEPENDENCY_PROBE_SECONDS = 5.0
"""The longest wait between two probes of a dependency that is away: one call, and what waits for it is let through at a
rate of its own."""

UNSAFE_WAIT_SECONDS = 1.0
"""A hand that finds the databases unsafe asks again after so long."""


class Turn(Enum):
    """How many events of a handler may start."""

    ALL = auto()
    ONE = auto()
    """Its breaker is half open: this one is the probe."""


@dataclass(slots=True)
class Breakers:
    clock: Clock
    infrastructure: Breaker = field(default_factory=Breaker)
    """Open: no worker hand claims anything, and no attempt is burnt."""
    handlers: dict[HandlerName, Breaker] = field(default_factory=dict)
    """Open: events of this handler wait; the others run on."""
    dependencies: dict[str, Breaker] = field(default_factory=dict)
    """Open: whatever uses this dependency waits."""
    untold: set[str] = field(default_factory=set)
    """Breakers that opened or closed here, and of which the other workers were not told yet."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there is something to tell."""
    unsafe: str = ""
    """Why nothing may start although everything answers: what is committed could be lost, or doubled."""
    is_ours: Callable[[str], bool] = lambda _name: True
    """Whether this worker has the handler, or uses the dependency, of that breaker."""
    _recent: dict[HandlerName, OrderedDict[EventId, bool]] = field(default_factory=dict)
    """Whether something was away, for the last events of each handler."""

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether work may start now. While the breaker is open this is the one probe, and the end of the turn ends the
        probing."""
        allowed = not self.unsafe and self.infrastructure.allows(self.clock.monotonic())
        try:
            yield allowed
        finally:
            if allowed:
                self.infrastructure.abandon_probe()

    @contextmanager
    def turn_of(self, *names: str) -> Iterator[Turn | Paused]:
        """How many may start that need what these breakers protect, or what they come to if none may. The turn ends the
        probing: where nothing decisive came of it, the next one is the probe."""
        probed: list[Breaker] = []
        refusal: Paused | None = None
        for name in names:
            if refused := self.refusal(name):
                breaker = self.breaker(name)
                if not breaker.allows(self.clock.monotonic()):
                    refusal = refused
                    break
                probed.append(breaker)
        try:
            yield refusal or (Turn.ONE if probed else Turn.ALL)
        finally:
            for breaker in probed:
                breaker.abandon_probe()

    def refusal(self, name: str) -> Paused | None:
        """What is not tried comes to, because this breaker is open."""
        breaker = self.breaker(name)
        reason = pause_reason(SwitchKind.BREAKER, name)
        return Paused(reason, breaker.why, is_away=True) if breaker.is_open else None

    @property
    def opened(self) -> int:
        """How many are open, besides the ledger's."""
        return sum(breaker.is_open for breaker in (*self.handlers.values(), *self.dependencies.values()))

    def learn(self, handler: HandlerName, results: Mapping[Work, Result]) -> dict[Work, Result]:
        """Open or close the breakers by what came of some events; the same, without what is not the events' fault."""
        return {work: self._learned(handler, work, result) for work, result in results.items()}

    def trip(self, why: str) -> None:
        self.open(LEDGER_BREAKER, why)

    def open(self, name: str, why: str, *, at_least: float = 0.0) -> None:
        breaker = self.breaker(name)
        before = breaker.open_until
        if breaker.trip(self.clock.monotonic(), why, at_least=at_least):
            _tell_opened(name, reason=why)
        if breaker.open_until != before:
            self._tell(name)

    def close(self, name: str) -> bool:
        """Only the probe closes it: one that began before the outage says nothing about its end. Whether it did."""
        breaker = self.breaker(name)
        if is_over := breaker.is_probing and breaker.reset():
            self._tell(name)
        return is_over

    def ledger_answers(self) -> None:
        if not self.unsafe and self.infrastructure.reset():
            telemetry.info("claims_resumed")
            self._tell(LEDGER_BREAKER)

    def distrust(self, why: str) -> None:
        """What a look at both databases came to: why they are unsafe, or nothing. No probe can find that out, so none
        is made until a look finds them safe again."""
        if why:
            self.unsafe = why
            self.trip(why)
        elif self.unsafe:
            self.unsafe = ""
            self.infrastructure.half_open(self.clock.monotonic())

    def wait(self) -> float:
        """Seconds after which it is worth asking for a turn again."""
        return UNSAFE_WAIT_SECONDS if self.unsafe else self.infrastructure.remaining(self.clock.monotonic())

    def hear(self, name: str, seconds: float, why: str, who: str) -> None:
        """Another worker's breaker is open."""
        if name != LEDGER_BREAKER and not self.is_ours(name):
            return  # of another version of the code: nothing here would ever find out that it is mended
        breaker = self.breaker(name)
        if breaker.hear(self.clock.monotonic(), seconds, why):
            _tell_opened(name, reason=why, worker=who)

    def half_open(self, name: str) -> None:
        """Another worker's breaker has closed, or no worker has said for a while that it must be open."""
        self.breaker(name).half_open(self.clock.monotonic())

    def breaker(self, name: str) -> Breaker:
        if name == LEDGER_BREAKER:
            return self.infrastructure
        if name.startswith(DEPENDENCY_PREFIX):
            return self.dependencies.setdefault(
                name.removeprefix(DEPENDENCY_PREFIX), Breaker(longest=DEPENDENCY_PROBE_SECONDS)
            )
        return self.handlers.setdefault(HandlerName(name.removeprefix(HANDLER_PREFIX)), Breaker())

    def _learned(self, handler: HandlerName, work: Work, result: Result) -> Result:
        try:
            return self._learn_one(handler, work, result)
        except BaseException as unexpected:  # noqa: BLE001 - to learn from an error is to read it, and its class is the user's
            telemetry.error("not_learned_from", event=work.claim.event_id, handler=handler, error=logged(unexpected))
            return result

    def _learn_one(self, handler: HandlerName, work: Work, result: Result) -> Result:
        match result:
            case Deferred(why="infrastructure", message=message):
                self.trip(message)
            case Failed(fault=Fault.SCHEMA, error=error):
                self.ledger_answers()
                self.open(f"{HANDLER_PREFIX}{handler}", logged(error))
            case Failed(fault=Fault.OWN_CONNECTION, error=error):
                self.ledger_answers()
                why = f"{logged(error)}: {error}"  # the sentence is ours
                self.open(f"{HANDLER_PREFIX}{handler}", why)
            case Failed(error=error) if is_away(error):
                self.ledger_answers()
                return self._found_away(handler, work, result)
            case Done(ran=True) | Failed():
                self.ledger_answers()
                self._handler_works(handler, work)
            case Done() | Buried():
                self.ledger_answers()
            case _:
                pass
        return result

    def _found_away(self, handler: HandlerName, work: Work, failed: Failed) -> Result:
        """Counted against the event, unless too many others fared alike: then it is an outage, and they all wait."""
        recent = self._remember(handler, work, away=True)
        breaker = self.breaker(f"{HANDLER_PREFIX}{handler}")
        was_probe = breaker.is_probing
        why = line_of(failed.error)
        if breaker.is_open or sum(recent.values()) >= AWAY_EVENTS_TO_OPEN:
            # Its class and place alone: it is in the log, and for all workers in the inbox, where no erasure finds it.
            self.open(f"{HANDLER_PREFIX}{handler}", logged(failed.error))
        if not breaker.is_open or self.has_waited_enough(work):
            return failed
        if was_probe:
            # For two waits, so that another event is the next probe: this one may be what cannot be answered.
            return Deferred("breaker", 2 * breaker.remaining(self.clock.monotonic()), why, is_away=True)
        return self.refusal(f"{HANDLER_PREFIX}{handler}") or failed

    def has_waited_enough(self, work: Work) -> bool:
        """Every wait ends: after as long as all its tries may take, an event is judged as if nothing were broken. Not
        its age counts, for what is replayed a week after it came has not waited at all."""
        since = work.claim.tries.get(work.handler.name, Tries()).away
        return since is not None and (self.clock.now() - since).total_seconds() > work.handler.backoff.total

    def _remember(self, handler: HandlerName, work: Work, *, away: bool) -> OrderedDict[EventId, bool]:
        recent = self._recent.setdefault(handler, OrderedDict())
        recent.pop(work.claim.event_id, None)
        recent[work.claim.event_id] = away
        if len(recent) > RECENT_EVENTS:
            recent.popitem(last=False)
        return recent

    def _handler_works(self, handler: HandlerName, work: Work) -> None:
        self._remember(handler, work, away=False)
        if self.close(f"{HANDLER_PREFIX}{handler}"):
            self._recent.pop(handler, None)
            telemetry.info("handler_breaker_closed", handler=handler)

    def _tell(self, name: str) -> None:
        self.untold.add(name)
        self.changed.set()


def _tell_opened(name: str, **facts: Any) -> None:
    if name == LEDGER_BREAKER:
        telemetry.error("claims_stopped", breaker=name, **facts)
    elif name.startswith(DEPENDENCY_PREFIX):
        telemetry.error("dependency_away", breaker=name, **facts)
    else:
        telemetry.error("handler_breaker_opened", breaker=name, **facts)
