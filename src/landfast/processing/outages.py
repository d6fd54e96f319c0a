"""What is broken right now, as this worker sees it: the ledger for everybody, or one handler's own SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from landfast import telemetry
from landfast.domain.fault import Fault
from landfast.domain.ids import HandlerName
from landfast.ports.clock import Clock
from landfast.processing.breaker import Breaker
from landfast.processing.work import Buried, Deferred, Done, Failed, Result


@dataclass(slots=True)
class Outages:
    clock: Clock
    infrastructure: Breaker = field(default_factory=Breaker)
    """Open: no worker hand claims anything, and no attempt is burnt."""
    handlers: dict[HandlerName, Breaker] = field(default_factory=dict)
    """Open: events of this handler wait; the others run on."""

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether work may start now. While the breaker is open this is the one probe; whatever came of it, the turn
        ends the probing."""
        allowed = self.infrastructure.allows(self.clock.monotonic())
        try:
            yield allowed
        finally:
            if allowed:
                self.infrastructure.abandon_probe()

    def refusal(self, handler: HandlerName) -> Deferred | None:
        """Why events of this handler may not start now, if they may not."""
        breaker = self.handlers.get(handler)
        now = self.clock.monotonic()
        if breaker is None or breaker.allows(now):
            return None
        return Deferred("breaker", max(0.5, breaker.remaining(now)), breaker.why)

    def learn(self, handler: HandlerName, results: Iterable[Result]) -> None:
        """Open or close the breakers by what came of a batch."""
        for result in results:
            match result:
                case Deferred(why="infrastructure", message=message):
                    self.trip(message)
                case Failed(fault=Fault.SCHEMA, error=error):
                    self._ledger_answers()
                    breaker = self.handlers.setdefault(handler, Breaker())
                    if breaker.trip(self.clock.monotonic(), str(error)):
                        telemetry.error("handler_breaker_opened", handler=handler, why=error)
                case Done(ran=True) | Failed():
                    self._ledger_answers()
                    self._handler_works(handler)
                case Done() | Buried():
                    self._ledger_answers()
                case _:
                    pass
        if probed := self.handlers.get(handler):
            probed.abandon_probe()  # where nothing decisive came of it, the next batch is the probe

    def trip(self, why: str) -> None:
        if self.infrastructure.trip(self.clock.monotonic(), why):
            telemetry.error("claims_stopped", why=why)

    def _ledger_answers(self) -> None:
        if self.infrastructure.reset():
            telemetry.info("claims_resumed")

    def _handler_works(self, handler: HandlerName) -> None:
        breaker = self.handlers.get(handler)
        if breaker is not None and breaker.reset():
            telemetry.info("handler_breaker_closed", handler=handler)
