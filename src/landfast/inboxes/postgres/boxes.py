"""Where this driver finds the keys of what is sealed, and what becomes of events that cannot be opened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from landfast import telemetry
from landfast.domain.delivery import Delivery, Difference
from landfast.domain.ids import EventId
from landfast.domain.outcome import Claim, Settlement
from landfast.domain.summary import EventRecord, EventSummary
from landfast.inboxes.postgres import rows
from landfast.inboxes.postgres.connection import Connection
from landfast.inboxes.postgres.statements import SQL
from landfast.sealing import Seal, StoreKey, values


async def store_keys(connection: Connection) -> list[StoreKey]:
    return [StoreKey(*row) for row in await connection.fetch(SQL["store_keys"])]


async def data_keys(
    connection: Connection, seal: Seal, events: Sequence[EventId], others: Iterable[bytes | None] = ()
) -> values.DataKeys:
    """Those of these events; the store keys that they and the others need are learnt."""
    found = dict(map(tuple, await connection.fetch(SQL["data_keys"], events))) if events else {}
    if seal.lacks([*found.values(), *others]):
        seal.learn(await store_keys(connection))
    return found


async def open_claims(
    connection: Connection, seal: Seal, claims: Sequence[Claim]
) -> tuple[Sequence[Claim], list[Settlement]]:
    """Those that can be processed, and how the others are settled."""
    sealed = values.sealed_claims(claims)
    if not sealed:
        return claims, []
    opened, others = values.open_claims(seal, claims, await data_keys(connection, seal, sealed))
    for why, events in values.waiting_for_a_key(others).items():
        telemetry.warn("no_master_key", events=events, reason=why)
    return opened, others


async def seal_settlements(
    connection: Connection, seal: Seal, settlements: Sequence[Settlement]
) -> Sequence[Settlement]:
    telling = [one.event_id for one in settlements if values.tells(one)]
    keys = await data_keys(connection, seal, telling)
    if len(keys) < len(set(telling)) and seal.store_key is not None:
        # Their texts are sealed with our own store key, and perhaps no intake has ever put it here.
        await connection.execute(SQL["record_store_key"], *seal.store_key)
    return [values.seal_settlement(seal, one, keys) if values.tells(one) else one for one in settlements]


async def open_summaries(connection: Connection, seal: Seal, found: Sequence[EventSummary]) -> list[EventSummary]:
    keys = await data_keys(connection, seal, values.sealed_summaries(found), values.keys_in_front(found))
    return [values.open_summary(seal, one, keys) for one in found]


async def open_record(connection: Connection, seal: Seal, record: EventRecord) -> EventRecord:
    others = values.keys_in_front([record.summary], record.history)
    return values.open_record(seal, record, await data_keys(connection, seal, [record.summary.event_id], others))


async def differing(connection: Connection, seal: Seal, deliveries: Sequence[Delivery]) -> dict[int, Difference]:
    """Those whose event is sealed with another body or type, by their places, from 1."""
    found = await connection.fetch(SQL["differing_sealed"], [delivery.event_id for delivery in deliveries])
    keys = await data_keys(connection, seal, [deliveries[row["place"] - 1].event_id for row in found])
    differences = {}
    for place, box, type_, received_at in found:
        one = deliveries[place - 1]
        is_another = values.is_another(seal, box, one, keys)
        if is_another or type_ != rows.text(one.type):
            differences[place] = Difference(is_another, type_ != rows.text(one.type), received_at)
    return differences
