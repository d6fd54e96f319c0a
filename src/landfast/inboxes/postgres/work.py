"""The workers' part: claim what is ready, and keep or lose the lease."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from landfast.domain.flow import Flow, Look
from landfast.domain.holding import HOLD_AT_ONCE
from landfast.domain.ids import EventId, Token, WorkerId
from landfast.domain.lane import Front, Lane
from landfast.domain.lifecycle import MOVES, Signal, State
from landfast.domain.outcome import Claim, without_body
from landfast.domain.unhandled import UnhandledCount
from landfast.inboxes.postgres import boxes, lanes, moves, rows
from landfast.inboxes.postgres.connection import Connection, Connections
from landfast.inboxes.postgres.flows import Flows
from landfast.inboxes.postgres.lanes import Pull
from landfast.inboxes.postgres.statements import SQL
from landfast.ports.clock import Clock
from landfast.sealing import Seal

RESCAN_EVERY = 1.0
"""Seconds. Below the watermark lie rows that were released, or that committed late: none waits longer for a claim."""

FRONT = 5000
"""Rows, oldest first. Claims go oldest first, too, so leases lie there even when a million events wait behind them:
looking for expired ones takes 2 ms each second and not 400."""

SEARCH_ALL_EVERY = 30.0
"""Seconds, about a lease. What lies further back, such as a suspect that was delayed, is found by then."""

SUSPECTS_KNOWN_AT_MOST = 1000
"""That one search of everything brings. With a million waiting it takes most of a second, which is much for one suspect
and nothing for a thousand of them."""

WAKE_EVERY = 0.1
"""Seconds. While there is enough to claim, nobody notices that a delayed event is woken so much later."""

WOKEN_AT_ONCE = 1000
"""A herd that is due at the same moment is woken in pieces, so that no claim waits for all of it."""

FOLD_ABOVE = 1000
"""Rows of counters beyond one for each type, until they are made one: reading a thousand takes a third of a
millisecond, and every settle that shelves adds one for each type."""

STRANDED_AT_ONCE = 1_000
"""Lanes that a worker has go on when it starts. As many events are in the hands of a worker that dies, at most."""


class Working:
    _connections: Connections
    _clock: Clock
    _seal: Seal
    _flows: Flows
    _watermark = 0
    _scanned_at = _woke_at = _searched_at = float("-inf")
    _known_suspects: Sequence[int] = ()
    """Where the last search of everything found some."""

    async def claim(
        self, *, token: Token, lease: float, limit: int, flows: Sequence[Flow] | None = None
    ) -> Sequence[Claim]:
        async with self._connections.working() as connection:
            if flows is not None:
                names = zip(*(flow.name for flow in flows), strict=True) if flows else ((), (), ())
                first = [flow.first for flow in flows]
                found = await connection.fetch(SQL["claim_flows"], token, lease, limit, *names, first)
                return await self._leased(connection, found, Pull(token, lease, limit))
            found = await self._claim(connection, token, lease, limit)
            if await self._wake(connection, enough=len(found) == limit) and len(found) < limit:
                found += await self._claim(connection, token, lease, limit - len(found))
            return await self._leased(connection, found, Pull(token, lease, limit))

    async def flows(self, *, is_thorough: bool = False) -> Look:
        async with self._connections.working() as connection:
            await self._wake(connection, enough=True)
            found = await self._flows.look(connection, is_thorough=is_thorough)
            if not found.flows and await self._wake(connection, enough=False):
                found = await self._flows.look(connection, is_thorough=is_thorough)
        return found

    async def claim_suspect(self, *, token: Token, lease: float) -> Claim | None:
        async with self._connections.working() as connection:
            ask = (SQL["claim_suspect"], token, lease, FRONT)
            found = await connection.fetch(*ask, self._known_suspects)
            if not found and await self._search_all(connection):
                found = await connection.fetch(*ask, self._known_suspects)
            claims = await self._leased(connection, found)
        return claims[0] if claims else None

    async def claim_event(self, event: EventId, *, token: Token, lease: float, held_for: str) -> Claim | None:
        # Dead before the COMMIT: it waits as before. After it: the lease expires.
        async with self._connections.transaction() as connection:
            found = await connection.fetch(SQL["claim_event"], token, lease, event)
            if not found and await moves.make_claimable(connection, event, held_for):
                found = await connection.fetch(SQL["claim_event"], token, lease, event)
            claims = await self._leased(connection, found)
        return claims[0] if claims else None

    async def has_suspects(self) -> bool:
        async with self._connections.working() as connection:
            found: bool = await connection.fetchval(SQL["has_suspects"], FRONT, self._known_suspects)
            return found or await self._search_all(connection)

    async def renew(self, *, tokens: Sequence[Token], lease: float) -> None:
        async with self._connections.working() as connection:
            await connection.execute(SQL["renew"], tokens, lease)

    async def abandon(self, *, worker: WorkerId) -> int:
        async with self._connections.working() as connection:
            expired: int = await connection.fetchval(SQL["abandon"], worker)
        return expired

    async def unhandled(self) -> Sequence[UnhandledCount]:
        async with self._connections.working() as connection:
            found = await connection.fetch(SQL["unhandled"])
            if sum(row["rows"] for row in found) > len(found) + FOLD_ABOVE:
                await connection.execute(SQL["unhandled_fold"])
        return [UnhandledCount(row["source"], row["type"], row["count"]) for row in found if row["count"]]

    async def requeue(self, *, source: str, type: str, limit: int) -> int:  # noqa: A002 - as the port has it
        # Dead before the COMMIT: they are unhandled as before, and the next one who asks finds them again.
        (move,) = MOVES[Signal.REQUEUE]
        async with self._connections.transaction() as connection:
            found = await connection.fetch(SQL["requeue_candidates"], source, type, limit)
            return await moves.from_shelf(connection, move, found, is_lazy=True)

    async def resume(self, *, limit: int) -> int:
        # Dead before the COMMIT: the next one who asks finds them again.
        (move,) = MOVES[Signal.RESUME]
        (state,) = move.way.states
        async with self._connections.transaction() as connection:
            found = await connection.fetch(SQL["resume_candidates"], state, limit)
            return await moves.from_shelf(connection, move, found, is_lazy=True)

    async def stir(self, reasons: Sequence[str]) -> int:
        # Dead before the COMMIT: whoever stirs has not told what it did yet, and its successor stirs again.
        (move,) = MOVES[Signal.STIR]
        async with self._connections.transaction() as connection:
            found = await connection.fetch(SQL["stir_candidates"], sorted(set(reasons)))
            return await moves.from_shelf(connection, move, found, is_lazy=True)

    async def order(self, sources: Sequence[str]) -> None:
        if not sources:
            return
        # Dead before the COMMIT: the next worker that starts does it. What is recorded from then on holds its lane.
        async with self._connections.transaction() as connection:
            new = [row["source"] for row in await connection.fetch(SQL["order_sources"], sources)]
            if new:
                await connection.execute(SQL["order_lock"])
                await connection.execute(SQL["order_work"], new)
                await connection.execute(SQL["order_shelf"], new, list(HOLD_AT_ONCE))
        # An event that was claimed before its source was ordered is settled by whoever did not know that it holds a
        # lane, and lets the lane go on in a statement of its own. Dead between the two: the next worker that starts
        # does it.
        async with self._connections.transaction() as connection:
            if stranded := await connection.fetch(SQL["lane_stranded"], sources, State.QUEUED, STRANDED_AT_ONCE):
                await lanes.advance(connection, {(row["source"], row["lane"]) for row in stranded})

    async def _leased(
        self, connection: Connection, found: Sequence[asyncpg.Record], pull: Pull | None = None
    ) -> Sequence[Claim]:
        """Dead between the claim and this: the lease expires, and the next claim finds the same."""
        fronts: dict[Lane, Front] = {}
        if any(row["holds"] for row in found):
            found, fronts = await lanes.walk(connection, found, pull)
        refused = [without_body(row["event_id"], row["run"], row["token"]) for row in found if row["key"] is None]
        claims = [rows.claim(row, is_behind=lanes.is_behind(row, fronts)) for row in found if row["key"] is not None]
        opened, sealed = await boxes.open_claims(connection, self._seal, claims)
        if refused or sealed:
            settlements = [*refused, *sealed]
            await moves.settle(connection, settlements, moves.groups(settlements))
            opened = await lanes.look_again(connection, opened)
        return opened

    async def _claim(self, connection: Connection, token: Token, lease: float, limit: int) -> list[asyncpg.Record]:
        """Under a backlog, start above what was claimed last: the dead versions of finished rows lie below it, and
        while any old transaction is open on the server nothing can remove them."""
        now = self._clock.monotonic()
        found: list[asyncpg.Record] = []
        if now - self._scanned_at < RESCAN_EVERY:
            found = await connection.fetch(SQL["claim"], token, lease, limit, self._watermark)
        if len(found) < limit:
            self._scanned_at = now
            found = await connection.fetch(SQL["claim"], token, lease, limit - len(found), 0) + found
        if found:
            self._watermark = found[-1]["seq"]
        return found

    async def _wake(self, connection: Connection, *, enough: bool) -> bool:
        """Make ready what is due; whether there was any."""
        now = self._clock.monotonic()
        if enough and now - self._woke_at < WAKE_EVERY:
            return False
        self._woke_at = now
        (move,) = MOVES[Signal.WAKE]
        return await connection.execute(SQL["wake"], WOKEN_AT_ONCE, move.way.states) != "INSERT 0 0"

    async def _search_all(self, connection: Connection) -> bool:
        """Look for suspects everywhere, if it is time to; whether there are any."""
        now = self._clock.monotonic()
        if now - self._searched_at < SEARCH_ALL_EVERY:
            return False
        found = await connection.fetch(SQL["find_suspects"], SUSPECTS_KNOWN_AT_MOST)
        self._known_suspects = [row["seq"] for row in found]
        if len(found) < SUSPECTS_KNOWN_AT_MOST:  # otherwise there are more
            self._searched_at = now
        return bool(found)
