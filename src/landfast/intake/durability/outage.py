"""Whether the inbox is away: one view for the whole process, shared by those who answer senders and the drainer."""

from __future__ import annotations

from collections.abc import Callable

from landfast import telemetry
from landfast.domain.breaker import Breaker
from landfast.ports.clock import Clock

AWAY_AFTER_SECONDS = 2.0
"""Seconds after which an inbox that has not answered counts as away: senders give up after 5 to 30, and a spool that
takes its time must still fit in."""


class Outage:
    """A breaker that says when it opens and closes: one line each, not one for each batch."""

    def __init__(
        self,
        clock: Clock,
        *,
        where: str = "inbox",
        then: str = "",
        on_begin: Callable[[], None] = lambda: None,
        waiting: Callable[[], int] = lambda: 0,
    ) -> None:
        self._clock = clock
        self._where = where
        self._then = {"then": then} if then else {}
        self._on_begin = on_begin
        self._waiting = waiting
        # Half a minute would be long here: while it is open, what could be answered for good goes the longer way.
        self._breaker = Breaker(shortest=0.25, longest=5.0)
        self.is_left_to_senders = False
        """Whether the drainer stumbles over something that is no outage: then it cannot find out when one is over."""

    @property
    def is_on(self) -> bool:
        return self._breaker.is_open

    def may_try(self) -> bool:
        """Always, while there is no outage. During one: True now and then, for one caller, who must say `began` or
        `ended` afterwards."""
        return self._breaker.allows(self._clock.monotonic())

    def remaining(self) -> float:
        """Seconds until it is worth asking `may_try` again."""
        return self._breaker.remaining(self._clock.monotonic())

    def began(self, why: object) -> None:
        """An attempt failed."""
        if self._breaker.trip(self._clock.monotonic(), str(why)):
            telemetry.warn("store_unavailable", store=self._where, error=why, **self._then)
            self._on_begin()

    def ended(self) -> None:
        """An attempt succeeded."""
        if self._breaker.reset():
            telemetry.info("store_available", store=self._where, waiting=self._waiting())

    def abandon(self) -> None:
        """The caller that was allowed to try had nothing to try with."""
        self._breaker.abandon_probe()
