"""What is broken right now, as this worker knows it: the ledger for everybody, or what one handler needs.

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
from landfast.domain.switch import SwitchKind, pause_reason
from landfast.ports.clock import Clock
from landfast.processing.handlers.error_text import line_of, logged
from landfast.processing.judge import is_away
from landfast.processing.work import Buried, Deferred, Done, Failed, Paused, Result, Work

LEDGER_BREAKER = "ledger"
"""The breaker that stops every claim."""

_HANDLER_PREFIX = "handler:"

RECENT_EVENTS = 20
"""So many of a handler's last events are remembered: enough to tell an outage from bad luck, and soon forgotten."""

AWAY_EVENTS_TO_OPEN = 10
"""The breaker opens when so many of them found something away at their last attempt: half of what was tried. Events are
counted and not attempts, so that one event whose requests are always answered 503 stops nobody."""


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
    untold: set[str] = field(default_factory=set)
    """Breakers that opened or closed here, and of which the other workers were not told yet."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there is something to tell."""
    unsafe: str = ""
    """Why nothing may start although everything answers: what is committed could be lost, or doubled."""
    has_handler: Callable[[HandlerName], bool] = lambda _name: True
    """Whether this worker has a handler of that name."""
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
    def turn_of(self, handler: HandlerName) -> Iterator[Turn | Paused]:
        """How many events of this handler may start, or what they come to if none may. The turn ends the probing: where
        nothing decisive came of it, the next event is the probe."""
        refusal = self.refusal(handler)
        if refusal is None:
            yield Turn.ALL
        elif not self.handlers[handler].allows(self.clock.monotonic()):
            yield refusal
        else:
            try:
                yield Turn.ONE
            finally:
                self.handlers[handler].abandon_probe()

    def refusal(self, handler: HandlerName) -> Paused | None:
        """What events of this handler come to that are not tried, because its breaker is open."""
        breaker = self.handlers.get(handler)
        if breaker is None or not breaker.is_open:
            return None
        return Paused(pause_reason(SwitchKind.BREAKER, f"{_HANDLER_PREFIX}{handler}"), breaker.why)

    def learn(self, handler: HandlerName, results: Mapping[Work, Result]) -> dict[Work, Result]:
        """Open or close the breakers by what came of some events; the same, without what is not the events' fault."""
        return {work: self._learned(handler, work, result) for work, result in results.items()}

    def trip(self, why: str) -> None:
        self._open(LEDGER_BREAKER, self.infrastructure, why)

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
        if name != LEDGER_BREAKER and not self.has_handler(_handler(name)):
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
        return self.handlers.setdefault(_handler(name), Breaker())

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
                self._ledger_answers()
                self._open(f"{_HANDLER_PREFIX}{handler}", self.breaker(f"{_HANDLER_PREFIX}{handler}"), logged(error))
            case Failed(error=error) if is_away(error):
                self._ledger_answers()
                return self._found_away(handler, work, result)
            case Done(ran=True) | Failed():
                self._ledger_answers()
                self._handler_works(handler, work)
            case Done() | Buried():
                self._ledger_answers()
            case _:
                pass
        return result

    def _found_away(self, handler: HandlerName, work: Work, failed: Failed) -> Result:
        """Counted against the event, unless too many others fared alike: then it is an outage, and they all wait."""
        recent = self._remember(handler, work, away=True)
        breaker = self.breaker(f"{_HANDLER_PREFIX}{handler}")
        was_probe = breaker.is_probing
        why = line_of(failed.error)
        if breaker.is_open or sum(recent.values()) >= AWAY_EVENTS_TO_OPEN:
            # Its class and place alone: it is in the log, and for all workers in the inbox, where no erasure finds it.
            self._open(f"{_HANDLER_PREFIX}{handler}", breaker, logged(failed.error))
        if not breaker.is_open or self._has_waited_enough(work):
            return failed
        if was_probe:
            # For two waits, so that another event is the next probe: this one may be what cannot be answered.
            return Deferred("breaker", 2 * breaker.remaining(self.clock.monotonic()), why)
        return self.refusal(handler) or failed

    def _has_waited_enough(self, work: Work) -> bool:
        """Every wait ends: after as long as all its tries may take, an event is judged as if nothing were broken."""
        age = (self.clock.now() - work.claim.received_at).total_seconds()
        return age > work.handler.backoff.total

    def _remember(self, handler: HandlerName, work: Work, *, away: bool) -> OrderedDict[EventId, bool]:
        recent = self._recent.setdefault(handler, OrderedDict())
        recent.pop(work.claim.event_id, None)
        recent[work.claim.event_id] = away
        if len(recent) > RECENT_EVENTS:
            recent.popitem(last=False)
        return recent

    def _open(self, name: str, breaker: Breaker, why: str) -> None:
        before = breaker.open_until
        if breaker.trip(self.clock.monotonic(), why):
            _tell_opened(name, reason=why)
        if breaker.open_until != before:
            self._tell(name)

    def _ledger_answers(self) -> None:
        if not self.unsafe and self.infrastructure.reset():
            telemetry.info("claims_resumed")
            self._tell(LEDGER_BREAKER)

    def _handler_works(self, handler: HandlerName, work: Work) -> None:
        self._remember(handler, work, away=False)
        breaker = self.handlers.get(handler)
        # Only the probe closes it: one that began before the outage says nothing about its end.
        if breaker is not None and breaker.is_probing and breaker.reset():
            self._recent.pop(handler, None)
            telemetry.info("handler_breaker_closed", handler=handler)
            self._tell(f"{_HANDLER_PREFIX}{handler}")

    def _tell(self, name: str) -> None:
        self.untold.add(name)
        self.changed.set()


def _handler(breaker: str) -> HandlerName:
    return HandlerName(breaker.removeprefix(_HANDLER_PREFIX))


def _tell_opened(name: str, **facts: Any) -> None:
    if name == LEDGER_BREAKER:
        telemetry.error("claims_stopped", breaker=name, **facts)
    else:
        telemetry.error("handler_breaker_opened", breaker=name, **facts)
