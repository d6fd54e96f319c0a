"""Lanes: what a claim may walk, and what goes on when an event is passed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import asyncpg

from landfast.domain.ids import Token
from landfast.domain.lane import Front, Lane, LanePlace
from landfast.domain.lifecycle import State
from landfast.domain.outcome import Claim, looked_at_again
from landfast.inboxes.postgres.connection import Connection
from landfast.inboxes.postgres.statements import SQL


class Pull(NamedTuple):
    """How a claim pulls along what is queued."""

    token: Token
    lease: float
    limit: int


async def lock(connection: Connection, lanes: Collection[Lane]) -> None:
    """Before their events are moved, and all at once: so two who settle events of the same lanes never wait for each
    other in a circle."""
    await connection.execute(SQL["lane_lock"], *_columns(lanes))


async def advance(connection: Connection, lanes: Collection[Lane]) -> int | None:
    """The oldest place in the line that got an event back."""
    promoted: int | None = await connection.fetchval(SQL["lane_advance"], *_columns(lanes), State.QUEUED)
    return promoted


async def walk(
    connection: Connection, found: Sequence[asyncpg.Record], pull: Pull | None
) -> tuple[Sequence[asyncpg.Record], dict[Lane, Front]]:
    """What was claimed, with what is queued right after it where it has the front of its lane, and the front of each
    lane. A suspect runs alone, and pulls nothing along. Dead in here: the leases expire."""
    fronts = await _fronts(connection, found)
    open_lanes = {} if pull is None else {lane: front for lane, front in fronts.items() if front.may_pull}
    if pull is not None and open_lanes:
        at_work = [front.at_work for front in open_lanes.values()]
        asked = (*pull, *_columns(open_lanes), at_work, State.QUEUED)
        if pulled := await connection.fetch(SQL["lane_pull"], *asked):
            found = [*found, *pulled]
            fronts |= await _fronts(connection, [row for row in found if (row["source"], row["lane"]) in open_lanes])
    return found, fronts


async def look_again(connection: Connection, claims: Sequence[Claim]) -> Sequence[Claim]:
    """What of a claim is left, where some of it was given back: that is not ours any more, and may hold its lane."""
    held = dict.fromkeys(claim.lane for claim in claims if claim.lane is not None)
    return looked_at_again(claims, await _fronts_of(connection, claims[0].token, held)) if held else claims


def is_behind(row: asyncpg.Record, fronts: Mapping[Lane, Front]) -> bool:
    return bool(row["holds"]) and fronts[row["source"], row["lane"]].has_before(row["place"])


async def _fronts(connection: Connection, claimed: Sequence[asyncpg.Record]) -> dict[Lane, Front]:
    """Of the lanes that these hold. Their own first places are known here, and cost no look."""
    mine: dict[Lane, LanePlace] = {}
    for row in claimed:
        if row["holds"]:
            lane = row["source"], row["lane"]
            mine[lane] = min(row["place"], mine.get(lane, row["place"]))
    return await _fronts_of(connection, claimed[0]["token"], mine)


async def _fronts_of(connection: Connection, token: Token, mine: Mapping[Lane, LanePlace | None]) -> dict[Lane, Front]:
    found = await connection.fetch(SQL["lane_fronts"], token, *_columns(mine))
    lanes = {(row["source"], row["lane"]): row for row in found}
    return {lane: Front(mine[lane], row["at_work"], row["on_shelf"]) for lane, row in lanes.items()}


def _columns(lanes: Collection[Lane]) -> tuple[list[str], list[str]]:
    return [source for source, _ in lanes], [lane for _, lane in lanes]
