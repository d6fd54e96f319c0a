"""What an entity must have come to, whatever happened on the way."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from landfast.domain.effect import SKIPPED
from landfast.domain.ids import EventId, event_id, receipt_digest
from landfast.domain.lane import lane_of
from landfast.domain.lane_memory import StateKey
from tests.properties.order_handlers import CHAIN, PLANS, WHATS, source_of
from tests.properties.order_ledgers import OrderShop


class Row(NamedTuple):
    """What a handler wrote, in the order of the COMMITs."""

    what: str
    key: str
    number: int
    run: int
    late: int
    claimed: int
    """The step in which its event was claimed."""


class Left(NamedTuple):
    """Of one entity, in the end."""

    rows: Sequence[Row]
    effects: Sequence[Mapping[str, Any]]
    state: str | None


class Known(NamedTuple):
    recorded: Mapping[str, int]
    """By the key of an event: the step in which it came first."""
    excused: Collection[str]
    """Those that were dead, or replayed: they may come late without having arrived late."""
    forced: Collection[tuple[str, int]]
    """Keys and runs that an operator forced."""


def id_of(key: str) -> EventId:
    return event_id(source_of(key), key)


async def left_of(shop: OrderShop, entity: str) -> Left:
    columns = "what, key_, number, run, late, step"
    rows = await shop.desk.look(f"SELECT {columns} FROM happened WHERE key_ LIKE '{entity}:%' ORDER BY id")
    [state] = await shop.ledger.states([StateKey(lane_of(shop.inbox_id, source_of(entity), entity), "life")])
    return Left([Row(*row) for row in rows], await effects_of(shop, entity), state)


async def effects_of(shop: OrderShop, entity: str) -> Sequence[dict[str, Any]]:
    digest = receipt_digest(shop.inbox_id, source_of(entity), f"{entity}:{PLANS}")
    found: Sequence[dict[str, Any]] = await shop.ledger.list(digest=digest, limit=99)
    return found


def check(left: Left, known: Known) -> None:
    places = [(row.what, row.key, row.run) for row in left.rows]
    assert len({*places}) == len(places), f"I4: {left.rows}"
    unforced = [row for row in left.rows if (row.key, row.run) not in known.forced]
    numbers = {what: [row.number for row in unforced if row.what == what] for what in WHATS}
    assert sorted(numbers["walk"]) == [*range(len(CHAIN))], f"each of them once: {left.rows}"
    assert numbers["plan"] == [PLANS], left.rows
    _check_lane([row for row in left.rows if row.what == "walk"], known)
    assert numbers["live_on"] == [*range(len(CHAIN))], f"I22: the lifecycle is not as in order: {left.rows}"
    assert left.state == CHAIN[-1], f"I22: it ends as {left.state}"
    newest = numbers["set_last"]
    assert newest == sorted({*newest}), f"I22: an older one ran: {left.rows}"
    assert newest[-1] == len(CHAIN) - 1, f"I22: the newest one did not run: {left.rows}"
    _check_graph(left, places)


def _check_lane(rows: Sequence[Row], known: Known) -> None:
    for at, row in enumerate(rows):
        beyond = [earlier for earlier in rows[:at] if earlier.number > row.number]
        assert row.late == bool(beyond), f"I5: late is told wrongly at {row} of {rows}"
        if row.late and row.key not in known.excused and row.run == 1:
            # Whoever ran a later one before it could not know of it.
            arrived = known.recorded[row.key]
            assert any(earlier.claimed < arrived for earlier in beyond), f"I5: {row} was overtaken in {rows}"


def _check_graph(left: Left, places: Sequence[tuple[str, str, int]]) -> None:
    """What has a transaction wrote once. That each is done, and in which order, is known already."""
    for row in left.effects:
        place = row["step"].named, msgspec.json.decode(row["context"])["key"], row["run"]
        if row["name"] == "write" and row["error"] != SKIPPED:
            assert places.count(place) == 1, f"I21: {place} wrote {places.count(place)} times"
