"""The intake's side: record and tally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import apsw

from landfast.domain.census import TOLD, TallyReport
from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.errors import RowRefusedError
from landfast.domain.ids import BootId, EventId
from landfast.domain.lane import LanePlace, place_in_micros
from landfast.domain.lifecycle import State
from landfast.domain.proofs import contradicted, first_bodies, have_proofs
from landfast.domain.summary import CAME_AGAIN_AT_MOST
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.rows import micros, micros_or_none
from landfast.inboxes.sqlite.statements import SQL, ask
from landfast.ports.clock import Clock
from landfast.sealing import Seal, SealedEvent

LIVE, DRAINED = 0, -1
"""Slots to count in: there is one writer at a time, so one row for each is enough."""

TIME_CHARACTERS = 8
"""Of a time at which an event came again: seconds in hexadecimal digits, which last until 2106. Microseconds in decimal
ones made this statement four times as slow, and these less than twice."""


IdentityRow = tuple[EventId, int, int]
InsertIdentities = Callable[[apsw.Connection, Sequence[IdentityRow]], AbstractSet[int]]
"""The identities of a batch -> the numbers of those that are new."""
BodyRow = tuple[int, EventId, int, str, str, str, str | None, int | None, bytes, bytes, LanePlace]


class SomeKnownError(Exception):
    """Not all of a batch are new. Which of them are, only the slower statement tells."""


class Recording:
    _file: SqliteFile
    _clock: Clock
    _seal: Seal
    boot: BootId
    _had_known = False
    """Whether some of the last batch were known: then those of the next one may be, too."""

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        return await self._record(deliveries, LIVE)

    async def record_drained(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        return await self._record(deliveries, DRAINED)

    @in_thread
    def _record(self, deliveries: Sequence[Delivery], slot: int) -> list[Recorded]:
        """Crash before the COMMIT: nothing is stored and nobody was answered. After it: all of them are, for good."""
        # Before the lock: others need not wait for it.
        sealed = [self._seal.event(what.event_id, what.headers, what.body) for what in deliveries]
        try:
            if not self._had_known:
                try:
                    return self._store(deliveries, sealed, slot, insert_all_new)
                except SomeKnownError:  # it is rolled back
                    self._had_known = True
            recorded = self._store(deliveries, sealed, slot, insert_new)
        except (apsw.ConstraintError, apsw.TooBigError, UnicodeEncodeError) as error:
            raise RowRefusedError(f"the inbox refuses a row: {error}") from error
        self._had_known = not all(row.is_new for row in recorded)
        return recorded

    def _store(
        self, deliveries: Sequence[Delivery], sealed: Sequence[SealedEvent], slot: int, insert: InsertIdentities
    ) -> list[Recorded]:
        with self._file.writing(durable=True) as connection:
            drained, again = _drained(connection, deliveries if slot == DRAINED else ())
            disproven = _disproven(connection, deliveries) if have_proofs(deliveries) else frozenset()
            recorded = _insert(connection, deliveries, sealed, disproven, insert)
            if self._seal.store_key is not None:
                # With each batch: one that was restored from a copy may have lost it.
                ask(connection, "record_store_key", self._seal.store_key)
            _count(connection, self.boot, slot, _new(deliveries, recorded), drained, again)
            return recorded

    @in_thread
    def tally(self, report: TallyReport) -> None:
        """Crash before: up to a second of counts is missing, and the boot is marked unclean."""
        totals = [
            (report.boot, source, *(getattr(tally, name) for name in TOLD)) for source, tally in report.sources.items()
        ]
        # Not worth an fsync each second: what a power loss takes, the missing last report of the boot admits.
        with self._file.writing(durable=report.ended) as connection:
            ask(connection, "tally_boot", (report.boot, micros(self._clock.now()), int(report.ended)))
            connection.executemany(SQL["tally_source"], totals)
            connection.executemany(SQL["tally_meter"], [(report.boot, *meter) for meter in report.meters.items()])
            at, kept = f"{int(self._clock.now().timestamp()):08x}", (CAME_AGAIN_AT_MOST - 1) * TIME_CHARACTERS
            again = [(event, count, at, kept) for event, count in report.redelivered.items()]
            connection.executemany(SQL["tally_redelivery"], again)


def insert_new(connection: apsw.Connection, identities: Sequence[IdentityRow]) -> AbstractSet[int]:
    return {seq for (seq,) in connection.executemany(SQL["record_identity"], identities)}


def insert_all_new(connection: apsw.Connection, identities: Sequence[IdentityRow]) -> AbstractSet[int]:
    """As nearly always, and known by their number alone: to have each told takes half as long again, and a turn more
    with the interpreter's lock for each event. SomeKnownError if that does not hold."""
    before = connection.total_changes()
    connection.executemany(SQL["record_identities"], identities)
    if connection.total_changes() - before < len(identities):
        raise SomeKnownError
    return {seq for _, _, seq in identities}


def _disproven(connection: apsw.Connection, deliveries: Sequence[Delivery]) -> frozenset[int]:
    """The places of those whose proof counts for another body. A known event is a duplicate, whatever proves it."""
    firsts = [(proof, digest, micros(at)) for proof, digest, at in first_bodies(deliveries)]
    others = contradicted(deliveries, dict(connection.executemany(SQL["bind_proofs"], firsts)))
    return frozenset(place for place in others if not ask(connection, "known", (deliveries[place].event_id,)))


def _insert(
    connection: apsw.Connection,
    deliveries: Sequence[Delivery],
    sealed: Sequence[SealedEvent],
    disproven: frozenset[int],
    insert: InsertIdentities,
) -> list[Recorded]:
    """All but those places. A proof that is not remembered together with its event would count for a second one."""
    ((next_seq,),) = ask(connection, "record_next")
    placed = [(seq, what, micros(what.received_at)) for seq, what in enumerate(deliveries, next_seq)]
    identities = [
        (what.event_id, received_at, seq) for seq, what, received_at in placed if seq - next_seq not in disproven
    ]
    new = insert(connection, identities)
    bodies = [
        (seq, what.event_id, received_at, what.source, what.key, what.type, what.entity,
         occurred_at := micros_or_none(what.occurred_at), box.headers, box.body,
         place_in_micros(occurred_at, received_at, seq - next_seq))
        for (seq, what, received_at), box in zip(placed, sealed, strict=True)
        if seq in new
    ]  # fmt: skip
    connection.executemany(SQL["record_body"], bodies)
    keys = [(seq, box.data_key) for (seq, _, _), box in zip(placed, sealed, strict=True) if box.data_key and seq in new]
    if keys:
        connection.executemany(SQL["record_data_key"], keys)
    _make_ready(connection, bodies, {seq: what.hold for seq, what, _ in placed if what.hold})
    if disproven:
        return [
            Recorded(what.event_id, seq in new, is_disproven=seq - next_seq in disproven) for seq, what, _ in placed
        ]
    return [Recorded(what.event_id, seq in new) for seq, what, _ in placed]


def _make_ready(connection: apsw.Connection, bodies: Sequence[BodyRow], held: Mapping[int, str]) -> None:
    """For a worker, or, of what is held and why, for an operator."""
    ordered = {source for (source,) in ask(connection, "ordered_sources")}
    ready = [
        (seq, event, at, source, type_, lane, place, lane is not None and source in ordered)
        for seq, event, at, source, _, type_, lane, _, _, _, place in bodies
        if seq not in held
    ]
    connection.executemany(SQL["record_work"], ready)
    if held:
        shelved = [
            (seq, event, at, source, type_, lane, place, held[seq], State.HELD)
            for seq, event, at, source, _, type_, lane, _, _, _, place in bodies
            if seq in held
        ]
        connection.executemany(SQL["record_held"], shelved)


def _new(deliveries: Sequence[Delivery], recorded: Sequence[Recorded]) -> Counter[str]:
    return Counter(what.source for what, row in zip(deliveries, recorded, strict=True) if row.is_new)


def _drained(connection: apsw.Connection, deliveries: Sequence[Delivery]) -> tuple[Counter[str], Counter[str]]:
    """Deliveries by source; and apart from them those that are here already, because their drainer died before it let
    go of them, or an intake recorded them and heard of it too late. A request may name one event twice, and is one
    delivery of it."""
    drained, again = Counter[str](), Counter[str]()
    for place, source in {(one.event_id, micros(one.received_at)): one.source for one in deliveries}.items():
        (again if ask(connection, "drained_before", place) else drained)[source] += 1
    return drained, again


def _count(connection: apsw.Connection, boot: BootId, slot: int, *counts: Counter[str]) -> None:
    """In the transaction that stores them: so no crash and no lost answer can make the count another."""
    for source in sorted(set().union(*counts)):
        ask(connection, "record_counted", (boot, slot, source, *(count[source] for count in counts)))
