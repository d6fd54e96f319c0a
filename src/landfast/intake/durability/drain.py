"""Drain: bring what a spool or a broker holds into the inbox, oldest first, and only then let go of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from landfast import telemetry
from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.errors import RowRefusedError, UnavailableError
from landfast.intake.durability.outage import AWAY_AFTER_SECONDS, Outage
from landfast.intake.durability.record_apart import Refused, record_apart
from landfast.intake.record import BATCH_DELIVERIES
from landfast.ports.backlog import Backlog, Taken
from landfast.ports.clock import Clock
from landfast.ports.journal import Journal

DRAIN_DELIVERIES_PER_SECOND = 5_000
"""Deliveries a second, at most: a quarter of what an inbox takes on a small machine. A sender that waits for its
answer goes before one that has it. Besides, a batch is followed by a rest as long as it took, so that an inbox that
has just come back, slow and cold, has at least half of its time for those who wait."""

IDLE_POLL_SECONDS = 0.5
"""Seconds between two looks at an empty backlog: about what one poll of a folder may cost unnoticed."""

PROBE_POLL_SECONDS = 0.05
"""Seconds before it is asked again whether somebody else's attempt has come to an end."""

STOP_SECONDS = 1.0
"""Seconds that a batch has to arrive when we stop: an inbox that is there needs a few milliseconds."""

PROBE_DELIVERIES = 20
"""Deliveries to find out with whether the inbox is back: reading a whole batch from a spool, to give it back again,
would keep those waiting whose deliveries are being written to it."""

LONGEST_RETRY_SECONDS = 5.0
"""Seconds between two attempts when something is wrong that is no outage of the inbox."""


class Drainer:
    """One loop. `drained` is told how many deliveries were new. `absorbed` is told how many deliveries of a spool will
    not come out of the broker that it is drained into: it had them already, or no message could hold them. One that
    `hurries` takes no rest: a broker's, where all that comes in comes through it, and nobody waits for the inbox."""

    def __init__(
        self,
        backlog: Backlog,
        inbox: Journal,
        *,
        clock: Clock,
        outage: Outage | None = None,
        drained: Callable[[int], None] = lambda _count: None,
        absorbed: Callable[[int], None] = lambda _count: None,
        hurries: bool = False,
    ) -> None:
        self._backlog = backlog
        self._inbox = inbox
        self._clock = clock
        self._outage = outage or Outage(clock)
        self._drained = drained
        self._absorbed = absorbed
        self._hurries = hurries
        self._failures = 0
        self._stepping = asyncio.Lock()
        self._loop: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._loop = asyncio.create_task(self.run())

    async def close(self) -> None:
        """Stop. A batch that is with the inbox has a moment to arrive; then it is given back, and whether it did is
        found out by whoever takes it next."""
        loop, self._loop = self._loop, None
        if loop is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await self._stepping.acquire()
            loop.cancel()
            await asyncio.wait([loop])

    async def run(self) -> None:
        while True:
            async with self._stepping:
                seconds = await self.step()
            await self._clock.sleep(seconds)

    async def step(self) -> float:
        """Bring one batch over; how many seconds to wait before the next. Never raises."""
        if (wait := self._outage.remaining()) > 0:
            return max(wait, PROBE_POLL_SECONDS)  # no attempt is due
        began: float | None = None
        try:
            taken = await self._backlog.take(PROBE_DELIVERIES if self._outage.is_on else BATCH_DELIVERIES)
            if not taken:
                return PROBE_POLL_SECONDS if self._hurries else IDLE_POLL_SECONDS
            # Not before: a disk that hangs would keep everybody else from finding out that the inbox is back.
            if not self._outage.may_try():
                await self._backlog.give_back(taken)
                return PROBE_POLL_SECONDS
            began = self._clock.monotonic()
            await self._bring(taken)
        except UnavailableError as error:
            self._outage.is_left_to_senders = False
            self._outage.began(error)
            return max(self._outage.remaining(), PROBE_POLL_SECONDS)
        except Exception as error:  # noqa: BLE001 - whatever it was, what is left must still get its turn
            if began is not None:  # if not, the attempt is a sender's
                self._outage.abandon()
            self._outage.is_left_to_senders = True
            return self._stumbled(error)
        self._failures = 0
        self._outage.is_left_to_senders = False
        took = self._clock.monotonic() - began
        if took <= AWAY_AFTER_SECONDS or self._hurries:
            self._outage.ended()
        else:  # good enough for what is answered already, and not for those who wait
            self._outage.began(f"an answer took {took:.1f} s")
        return (
            0.0
            if self._hurries
            else max(took, sum(len(each.deliveries) for each in taken) / DRAIN_DELIVERIES_PER_SECOND)
        )

    async def _bring(self, taken: Sequence[Taken]) -> None:
        """All of them: forgotten after the inbox's COMMIT, set aside as far as it refuses them, or given back."""
        parts = [list(taken)]
        try:
            while parts:
                part = parts[-1]
                rows = [one for each in part for one in each.deliveries]
                refused: Sequence[Refused] = ()
                try:
                    recorded = await self._record(rows)
                except RowRefusedError:
                    if len(part) > 1:  # the older half is the last
                        middle = len(part) // 2
                        parts[-1:] = [part[middle:], part[:middle]]
                        continue
                    # Its sender was told that all of it is safe: what the inbox takes of it is recorded.
                    recorded, refused = await record_apart(self._record, rows)
                # Crash before this line: they are taken again, and the inbox knows them.
                if refused:
                    await self._set_aside(part[0], refused)
                else:
                    await self._backlog.forget(part)
                parts.pop()
                self._count(recorded)
        except BaseException:  # cancelled, too: what is not settled must be found by the next take
            await self._backlog.give_back([each for part in reversed(parts) for each in part])
            raise

    async def _record(self, rows: Sequence[Delivery]) -> Sequence[tuple[Delivery, Recorded]]:
        """Each delivery, and what became of it."""
        # Sorted, because two that insert the same keys in different orders deadlock on PostgreSQL. Twins keep their
        # order, so that the older one is the new one.
        rows = sorted(rows, key=lambda delivery: delivery.event_id)
        return list(zip(rows, await self._inbox.record(rows), strict=True))

    async def _set_aside(self, request: Taken, refused: Sequence[Refused]) -> None:
        for one, error in refused:
            telemetry.error("delivery_set_aside", source=one.source, event=one.event_id, error=error)
        why = str(refused[0].error)
        await self._backlog.set_aside(Taken([each.delivery for each in refused], request.handle), why)

    def _count(self, recorded: Sequence[tuple[Delivery, Recorded]]) -> None:
        self._drained(sum(row.is_new for _, row in recorded))
        came_on = {(one.event_id, one.received_at): False for one, _ in recorded}
        came_on |= {(one.event_id, one.received_at): True for one, row in recorded if row.is_new and not row.in_inbox}
        self._absorbed(sum(not came for came in came_on.values()))

    def _stumbled(self, error: Exception) -> float:
        self._failures += 1
        if self._failures == 1:  # once for each thing that goes wrong, not once for each attempt
            telemetry.error("drain_failed", trace=error)
        return min(LONGEST_RETRY_SECONDS, IDLE_POLL_SECONDS * 2.0 ** min(self._failures - 1, 10))
