"""Record: group commit. What arrives while a commit is in flight forms the next batch: one statement, one COMMIT, and
only then the answers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from landfast import telemetry
from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.errors import OverloadedError, PartUnavailableError, RowRefusedError, UnavailableError
from landfast.domain.ids import SeenMark
from landfast.intake.durability.record_apart import Refused, record_apart
from landfast.intake.lookups import ask_inbox, ask_shared
from landfast.ports.journal import Journal
from landfast.ports.seen import Seen
from landfast.ports.wakeup import Wakeup

BATCH_DELIVERIES = 500
"""More rows per COMMIT gain nothing measurable, and make everybody in the batch wait for the last one."""

BATCH_BYTES = 8 * 1024 * 1024
"""Keeps one statement well under a second on a slow disk."""

UNCOMMITTED_BYTES = 64 * 1024 * 1024
"""Bytes waiting for their COMMIT: eight full batches, a few seconds of backlog. Beyond it an honest 503 at once is
better than an answer that comes after the sender gave up, and memory stays bounded."""

TWIN_WAIT_SECONDS = 0.03
"""Seconds that a request waits, once, for another intake that is recording its event: several COMMITs on a good disk.
If that one has died, its sender has lost no more than this."""

RecordResult = Sequence[Recorded] | Exception
Conclude = Callable[[RecordResult], None]
"""Told what became of a request. Called exactly once, after the COMMIT."""
Knows = Callable[[SeenMark], bool]


class DeliveryRecorder(Protocol):
    """What makes deliveries durable: `GroupCommit`."""

    def record(self, deliveries: Sequence[Delivery], conclude: Conclude) -> None: ...

    def has_room(self, size: int) -> bool: ...


class _Waiting:
    """One request: all of its deliveries are recorded, or none."""

    __slots__ = ("conclude", "deliveries", "has_waited", "recorded", "size", "source")

    def __init__(self, deliveries: Sequence[Delivery], conclude: Conclude) -> None:
        self.deliveries = deliveries
        self.source = deliveries[0].source
        self.conclude = conclude
        self.size = sum([len(delivery.body) + len(delivery.headers) for delivery in deliveries])
        self.recorded: list[Recorded] = []
        self.has_waited = False
        """For another intake that is recording the same."""

    def is_known(self, knows: Knows) -> bool:
        for delivery in self.deliveries:  # noqa: SIM110 - every request passes here, and `all` takes three times as long
            if not knows(delivery.mark):
                return False
        return True


class GroupCommit:
    def __init__(
        self,
        journal: Journal,
        *,
        seen: Seen,
        wakeup: Wakeup,
        budget: int = UNCOMMITTED_BYTES,
        has_neighbours: bool = False,
    ) -> None:
        self._journal = journal
        self._seen = seen
        self._wakeup = wakeup
        self._budget = budget
        self._has_neighbours = has_neighbours
        """Several sources share the budget. Each may have as much of it as is still free: half of it alone, a third of
        it beside one that does the same. So no source takes what another needs."""
        self._held_of: dict[str, int] = {}
        self._waiting: deque[_Waiting] = deque()
        self._held = 0
        self._commits: asyncio.Task[None] | None = None
        self._twins: set[asyncio.Task[None]] = set()
        """Each waits for what another intake is recording."""
        self._is_down = False
        self._inbox_hits = 0

    def record(self, deliveries: Sequence[Delivery], conclude: Conclude) -> None:
        """Have the deliveries made durable, and `conclude` told when they are or cannot be. A sender that went away
        meanwhile still has its event stored. OverloadedError when too much is waiting already."""
        request = _Waiting(deliveries, conclude)
        # One request alone may exceed the budget, or it could never be taken.
        if self._held and self._held + request.size > self._budget:
            raise OverloadedError
        mine = self._held_of.get(request.source, 0)
        if mine and self._has_neighbours and mine + request.size > self._budget - self._held:
            raise OverloadedError("too much of this source waits for its commit")
        self._held += request.size
        self._held_of[request.source] = mine + request.size
        self._waiting.append(request)
        self._start()

    def has_room(self, size: int) -> bool:
        """Whether `record` takes a request of any source that is no larger; False where it might not."""
        return not self._held or 2 * (self._held + size) <= self._budget

    def meters(self) -> Mapping[str, int]:
        return {"seen_inbox_hits": self._inbox_hits}

    async def close(self) -> None:
        """Return when everything taken so far is answered."""
        while self._commits is not None or self._twins:
            await asyncio.wait([*self._twins, *([self._commits] if self._commits else [])])

    def _start(self) -> None:
        if self._commits is None:
            self._commits = asyncio.get_running_loop().create_task(self._commit_waiting())

    async def _commit_waiting(self) -> None:
        try:
            while self._waiting:
                if batch := await self._without_known(self._next_batch()):
                    await self._commit(batch)
        finally:
            self._commits = None

    def _next_batch(self) -> list[_Waiting]:
        batch = [self._waiting.popleft()]
        rows, size = len(batch[0].deliveries), batch[0].size
        while self._waiting:
            rows += len(self._waiting[0].deliveries)
            size += self._waiting[0].size
            if rows > BATCH_DELIVERIES or size > BATCH_BYTES:
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _without_known(self, batch: list[_Waiting]) -> list[_Waiting]:
        """What the inbox has to be asked about. What was committed while it waited here, or by another intake, is a
        duplicate and answered now; what another is recording right now comes again a little later, and only once: a
        mark that it left is no promise, only its COMMIT is."""
        batch = self._answer_known(batch, self._seen.has_by_now, "memory")
        if not batch or not self._seen.is_shared:
            return batch
        looked = await ask_shared(self._seen, [delivery.mark for request in batch for delivery in request.deliveries])
        if looked.known:
            batch = self._answer_known(batch, looked.known.__contains__, "shared")
        if not looked.in_flight:
            return batch
        return self._let_wait(batch, looked.in_flight)

    def _answer_known(self, batch: list[_Waiting], knows: Knows, layer: str) -> list[_Waiting]:
        """Answer the requests of which all is known; the others."""
        known = [request for request in batch if request.is_known(knows)]
        if not known:  # as nearly always
            return batch
        for request in known:
            request.recorded = [
                Recorded(delivery.event_id, is_new=False, known_by=layer) for delivery in request.deliveries
            ]
        self._conclude_all(known, None)
        return [request for request in batch if not request.recorded]

    def _let_wait(self, batch: list[_Waiting], in_flight: frozenset[SeenMark]) -> list[_Waiting]:
        """Put off the requests that another intake is recording, unless they were before; the others."""
        others: list[_Waiting] = []
        twins: list[_Waiting] = []
        for request in batch:
            is_twin = not request.has_waited and any(delivery.mark in in_flight for delivery in request.deliveries)
            request.has_waited |= is_twin
            (twins if is_twin else others).append(request)
        if twins:
            waiting = asyncio.get_running_loop().create_task(self._come_again(twins))
            self._twins.add(waiting)
            waiting.add_done_callback(self._twins.discard)
        return others

    async def _come_again(self, twins: Sequence[_Waiting]) -> None:
        await asyncio.sleep(TWIN_WAIT_SECONDS)
        self._waiting.extend(twins)
        self._start()

    async def _commit(self, batch: list[_Waiting]) -> None:
        # Sorted, because two intakes that insert the same keys in different orders deadlock on PostgreSQL.
        rows = [(delivery, request) for request in batch for delivery in request.deliveries]
        rows.sort(key=lambda row: row[0].event_id)
        try:
            # Crash before the COMMIT in here: nobody was answered, every sender comes again. After it: the events are
            # stored, and the retries of those we did not answer are duplicates.
            recorded = await ask_inbox(self._journal, [delivery for delivery, _ in rows])
            for (_, request), row in zip(rows, recorded, strict=True):
                request.recorded.append(row)
        except RowRefusedError as error:
            await self._split(batch, error)
        except PartUnavailableError as error:
            self._note_outage(error)
            part = [each for each in batch if any(one.event_id in error.events for one in each.deliveries)] or batch
            self._conclude_all(part, OverloadedError())
            if others := [each for each in batch if each not in part]:
                await self._commit(others)
        except UnavailableError as error:
            self._note_outage(error)
            self._conclude_all(batch, OverloadedError())
        except Exception as error:  # noqa: BLE001 - whatever it was, the senders are answered and the next batch goes on
            telemetry.error("recording_failed", trace=error, count=len(rows))
            self._conclude_all(batch, error)
        else:
            self._is_down = False
            self._acknowledge(batch, rows, recorded)

    async def _split(self, batch: list[_Waiting], error: RowRefusedError) -> None:
        """One bad row must not fail its neighbours: halve until it is alone."""
        if len(batch) > 1:
            middle = len(batch) // 2
            await self._commit(batch[:middle])
            await self._commit(batch[middle:])
            return
        await self._refuse(batch[0], error)

    async def _refuse(self, request: _Waiting, error: RowRefusedError) -> None:
        """Its sender is told of the failure, sends all of it again, and gives up one day. So what the inbox takes of it
        is recorded: acknowledged to nobody, but processed, and a duplicate when it comes again."""
        refused: Sequence[Refused] = [Refused(request.deliveries[0], error)]
        try:
            if len(request.deliveries) > 1:
                recorded, refused = await record_apart(self._journal.record, request.deliveries)
                if any(row.is_new for row in recorded):
                    self._wakeup.nudge()
        except Exception as failure:  # noqa: BLE001 - the same answer, and the retry finds out
            telemetry.warn("refused_request_waits", error=failure)
        for one, why in refused:
            telemetry.error("delivery_refused", source=one.source, event=one.event_id, error=why)
        self._conclude_all([request], error)

    def _acknowledge(
        self, batch: list[_Waiting], rows: Sequence[tuple[Delivery, _Waiting]], recorded: Sequence[Recorded]
    ) -> None:
        try:
            # Only now, after the COMMIT: a cache that knows an event before it is durable would swallow the retry.
            self._remember(rows, recorded)
            if any(row.is_new for row in recorded):
                self._wakeup.nudge()
        except Exception as error:  # noqa: BLE001 - both are hints: what is stored is answered, whatever becomes of them
            telemetry.error("after_commit_failed", trace=error)
        self._conclude_all(batch, None)
        # Behind the answers in the loop's queue: no sender waits for our log.
        asyncio.get_running_loop().call_soon(_log_stored, batch)

    def _remember(self, rows: Sequence[tuple[Delivery, _Waiting]], recorded: Sequence[Recorded]) -> None:
        # A mark does not say whose it is: what is held under a key of another event's is looked up each time.
        pairs = zip(rows, recorded, strict=True)
        marked = [(one.mark, row) for (one, _), row in pairs if not one.hold or row.event_id == one.event_id]
        for in_inbox in (True, False):
            if part := [each for each in marked if each[1].in_inbox is in_inbox]:
                marks, events = [mark for mark, _ in part], [row.event_id for _, row in part]
                self._seen.remember(marks, events=events, in_inbox=in_inbox)
        self._inbox_hits += sum([not row.is_new for _, row in marked if row.in_inbox])

    def _conclude_all(self, batch: list[_Waiting], error: Exception | None) -> None:
        for request in batch:
            self._held -= request.size
            self._held_of[request.source] -= request.size
            try:
                request.conclude(request.recorded if error is None else error)
            except Exception as failure:  # noqa: BLE001 - one connection that fails must not keep its neighbours waiting
                telemetry.error("answer_failed", trace=failure)

    def _note_outage(self, error: UnavailableError) -> None:
        # It may come back as an older self, restored from a backup: what it has forgotten must not be a duplicate.
        self._seen.clear()
        if not self._is_down:  # once per outage, not once per batch
            telemetry.warn("recording_unavailable", error=error)
        self._is_down = True


def _log_stored(batch: list[_Waiting]) -> None:
    # Together: a record of its own for each event would cost as much as verifying it.
    telemetry.info_each(
        "stored",
        (
            {"source": delivery.source, "type": delivery.type, "key": delivery.key, "event": delivery.event_id}
            for request in batch
            for delivery in _new_ones(request)
        ),
    )


def _new_ones(request: _Waiting) -> Sequence[Delivery]:
    if len(request.recorded) == 1 and request.recorded[0].is_new:  # as nearly always
        return request.deliveries
    new = {row.event_id for row in request.recorded if row.is_new}
    return [delivery for delivery in request.deliveries if delivery.event_id in new]
