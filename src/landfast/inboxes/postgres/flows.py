"""Where the oldest ready event of each flow is, and what is remembered of it from one look to the next."""

from __future__ import annotations

import asyncpg

from landfast.domain.flow import FLOWS_AT_MOST, START, Flow, Look, Name, Round
from landfast.inboxes.postgres.connection import Connection
from landfast.inboxes.postgres.statements import SQL
from landfast.ports.clock import Clock

RESCAN_EVERY = 1.0
"""Seconds. Below its place in a flow lie events that were released, or that committed late: none waits longer."""

QUICK_SCAN = 0.005
"""Seconds. A search for new flows that takes longer may wade through what is left of finished rows, which an old
transaction keeps from being removed: then it is made once a second, and not at every look."""

SLOW_SCAN = 0.1
"""Seconds. A search that takes less may be slow for another reason, such as a busy machine. Whoever has nothing else to
do makes it anyway: to rest instead would let an event of a new flow wait for the next poll."""


class Flows:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._places: dict[Name, int] = {}
        self._rescanned_at = float("-inf")
        self._search_took = 0.0
        self._after = START
        """Where the next look begins to search."""

    async def look(self, connection: Connection, *, is_thorough: bool) -> Look:
        began = self._clock.monotonic()
        is_search = self._search_took < (SLOW_SCAN if is_thorough else QUICK_SCAN)
        if began - self._rescanned_at >= RESCAN_EVERY:
            self._rescanned_at, is_search = began, True
            self._places = {}
        look = Round(self._after)
        ready, is_over = await self._find(connection, look, is_search=is_search)
        if is_search:
            self._search_took = self._clock.monotonic() - began
            while not is_over and len(ready) < FLOWS_AT_MOST:
                more, is_over = await self._find(connection, look, is_search=True)
                ready |= more
            self._after = look.after
        return Look([*ready.values()], is_all=is_search and len(ready) < FLOWS_AT_MOST)

    def rewind(self, seq: int) -> None:
        """Something is ready at this place in the line again, of whichever flow."""
        self._places = {name: min(place, seq) for name, place in self._places.items()}

    async def _find(self, connection: Connection, look: Round, *, is_search: bool) -> tuple[dict[Name, Flow], bool]:
        """Flows that are known, or that this search finds, and whether the round is over."""
        known = [[name[part] for name in self._places] for part in range(3)]
        places = [*self._places.values()]
        found = await connection.fetch(SQL["flows"], *known, places, is_search, *look.after, FLOWS_AT_MOST)
        for row in found:
            flow = _name(row)
            # One of which nothing is ready stays known, and is looked at from the same place.
            self._places[flow] = self._places.get(flow, 0) if row["first"] is None else row["first"]
        is_over = look.is_over([_name(row) for row in found if row["is_searched"]])
        ready = [row for row in found if row["first"] is not None]
        return {_name(row): Flow(row["source"], row["type"], row["first"], row["is_replay"]) for row in ready}, is_over


def _name(row: asyncpg.Record) -> Name:
    return row["source"], row["type"], row["is_replay"]
