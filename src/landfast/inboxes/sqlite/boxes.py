"""Where this driver finds the keys of what is sealed, and what becomes of events that cannot be opened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw

from landfast import telemetry
from landfast.domain.delivery import Delivery, Difference
from landfast.domain.ids import EventId
from landfast.domain.outcome import Claim, Settlement
from landfast.domain.summary import EventRecord, EventSummary
from landfast.inboxes.sqlite import rows
from landfast.inboxes.sqlite.statements import ask
from landfast.sealing import Seal, StoreKey, values


def store_keys(connection: apsw.Connection) -> list[StoreKey]:
    return [StoreKey(*row) for row in ask(connection, "store_keys")]


def data_keys(
    connection: apsw.Connection, seal: Seal, events: Sequence[EventId], others: Iterable[bytes | None] = ()
) -> values.DataKeys:
    """Those of these events; the store keys that they and the others need are learnt."""
    found = {event: key for event in events for (key,) in ask(connection, "data_keys", (event,))}
    if seal.lacks([*found.values(), *others]):
        seal.learn(store_keys(connection))
    return found


def open_claims(
    connection: apsw.Connection, seal: Seal, claims: Sequence[Claim]
) -> tuple[list[Claim], list[Settlement]]:
    """Those that can be processed, and how the others are settled."""
    opened, others = values.open_claims(seal, claims, data_keys(connection, seal, values.sealed_claims(claims)))
    for why, events in values.waiting_for_a_key(others).items():
        telemetry.warn("no_master_key", events=events, reason=why)
    return opened, others


def seal_settlements(
    connection: apsw.Connection, seal: Seal, settlements: Sequence[Settlement]
) -> Sequence[Settlement]:
    if seal.store_key is None:
        return settlements
    telling = [one.event_id for one in settlements if values.tells(one)]
    keys = data_keys(connection, seal, telling)
    if len(keys) < len(set(telling)):
        # Their texts are sealed with our own store key, and perhaps no intake has ever put it here.
        ask(connection, "record_store_key", seal.store_key)
    return [values.seal_settlement(seal, one, keys) if values.tells(one) else one for one in settlements]


def open_summaries(connection: apsw.Connection, seal: Seal, found: Sequence[EventSummary]) -> list[EventSummary]:
    keys = data_keys(connection, seal, values.sealed_summaries(found), values.keys_in_front(found))
    return [values.open_summary(seal, one, keys) for one in found]


def open_record(connection: apsw.Connection, seal: Seal, record: EventRecord) -> EventRecord:
    others = values.keys_in_front([record.summary], record.history)
    return values.open_record(seal, record, data_keys(connection, seal, [record.summary.event_id], others))


def difference(connection: apsw.Connection, seal: Seal, one: Delivery) -> Difference | None:
    """Where its event is sealed with another body or type."""
    for box, type_, received_at in ask(connection, "differing_sealed", (one.event_id,)):
        keys = data_keys(connection, seal, [one.event_id])
        is_another = values.is_another(seal, box, one, keys)
        if is_another or type_ != rows.text(one.type):
            return Difference(is_another, type_ != rows.text(one.type), rows.moment(received_at))
    return None
