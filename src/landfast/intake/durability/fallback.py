"""Fallback: the inbox, or the broker before it, while it answers in time; the spool while it does not."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Literal, Protocol

from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.errors import PartUnavailableError, RowRefusedError, UnavailableError
from landfast.intake.durability.outage import AWAY_AFTER_SECONDS, Outage
from landfast.ports.clock import Clock
from landfast.ports.journal import Journal

Where = Literal["inbox", "journal", "spool", "nothing"]

FAILED_READINESS_SECONDS = 10.0
"""Seconds for which what has failed is said to. For ever would be too long: a load balancer that is told so
sends nobody, and then nobody finds out that there is room again."""


class Alone:
    """A journal with nothing behind it, and whether it takes anything now."""

    def __init__(self, first: Journal, *, clock: Clock, name: Where) -> None:
        self._first = first
        self._clock = clock
        self._name: Where = name
        self._failed_at = -math.inf

    @property
    def where(self) -> Where:
        """Where the next delivery would become durable, as far as is known."""
        return "nothing" if self._clock.monotonic() - self._failed_at < FAILED_READINESS_SECONDS else self._name

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        try:
            recorded = await self._first.record(deliveries)
        except PartUnavailableError:
            raise  # it takes whatever else comes
        except UnavailableError:
            self._failed_at = self._clock.monotonic()
            raise
        self._failed_at = -math.inf
        return recorded


class SpoolJournal(Journal, Protocol):
    @property
    def waiting(self) -> int:
        """Records that wait to be drained."""
        ...


class Fallback:
    """A journal of two. Senders see the same 200 from either."""

    def __init__(
        self, first: Journal, spool: SpoolJournal, *, outage: Outage, clock: Clock, name: Where = "inbox"
    ) -> None:
        self._first = first
        self._spool = spool
        self._outage = outage
        self._clock = clock
        self._name: Where = name
        self._is_spool_failing = False
        self._failed_at = -math.inf
        self._abandoned: set[asyncio.Task[Sequence[Recorded]]] = set()

    @property
    def where(self) -> Where:
        """Where the next delivery would become durable, as far as is known."""
        if not self._outage.is_on:
            return self._name
        return (
            "nothing"
            if self._is_spool_failing and self._clock.monotonic() - self._failed_at < FAILED_READINESS_SECONDS
            else "spool"
        )

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        recorded = await self._try_first(deliveries) if self._is_worth_trying() else None
        if recorded is not None:
            return recorded
        try:
            recorded = await self._spool.record(deliveries)
        except UnavailableError:
            self._is_spool_failing = True
            self._failed_at = self._clock.monotonic()
            raise
        self._is_spool_failing = False
        return recorded

    async def close(self) -> None:
        """Wait a moment for what was abandoned to unwind, and no longer."""
        if self._abandoned:
            await asyncio.wait(self._abandoned, timeout=1)

    def _is_worth_trying(self) -> bool:
        """During an outage the drainer finds out when it is over, and no sender waits for that; unless there is nothing
        to drain, the drainer stumbles, or the spool fails too, and with it perhaps the drainer."""
        if not self._outage.is_on:
            return True
        is_left_to_us = not self._spool.waiting or self._is_spool_failing or self._outage.is_left_to_senders
        return is_left_to_us and self._outage.may_try()

    async def _try_first(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded] | None:
        """None where it did not answer. It may have committed all the same: then the inbox knows what is drained."""
        attempt = asyncio.ensure_future(self._first.record(deliveries))
        done, _ = await asyncio.wait([attempt], timeout=AWAY_AFTER_SECONDS)
        if not done:
            self._abandon(attempt)
            self._outage.began(f"no answer within {AWAY_AFTER_SECONDS:g} s")
            return None
        try:
            recorded = attempt.result()
        except RowRefusedError:
            self._outage.ended()  # it answered
            raise
        except UnavailableError as error:
            self._outage.began(error)
            return None
        except BaseException:
            self._outage.abandon()
            raise
        self._outage.ended()
        self._is_spool_failing = False  # as far as is known: in the next outage it is tried anew
        return recorded

    def _abandon(self, attempt: asyncio.Task[Sequence[Recorded]]) -> None:
        # Cancelled and not waited for: on a dead connection, even being cancelled takes its time.
        attempt.cancel()
        self._abandoned.add(attempt)
        attempt.add_done_callback(self._unwound)

    def _unwound(self, attempt: asyncio.Task[Sequence[Recorded]]) -> None:
        self._abandoned.discard(attempt)
        if not attempt.cancelled():
            attempt.exception()  # looked at: nobody else will
