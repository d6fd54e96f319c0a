"""The workers' side: claim, renew, abandon, requeue. Settling is in `settle`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import apsw

from landfast.domain.flow import FLOWS_AT_MOST, START, Flow, Look, Round
from landfast.domain.ids import EventId, Token, WorkerId, tokens_of
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Claim, Settlement, without_body
from landfast.domain.unhandled import UnhandledCount
from landfast.inboxes.sqlite import boxes, history, rows
from landfast.inboxes.sqlite.connection import SqliteFile
from landfast.inboxes.sqlite.settle import apply
from landfast.inboxes.sqlite.statements import SQL, ask
from landfast.ports.clock import Clock
from landfast.sealing import Seal

WOKEN_AT_ONCE = 1_000
"""Delayed events that one claim wakes at most: an hour's retries may all be due together, and a record must not wait
for them."""


class Working:
    _file: SqliteFile
    _clock: Clock
    _seal: Seal
    _flows_after = START

    async def claim(
        self, *, token: Token, lease: float, limit: int, flows: Sequence[Flow] | None = None
    ) -> Sequence[Claim]:
        asked = {**self._lease(token, lease), "limit": limit}
        if flows is None:
            return await self._file.run(partial(self._claim, asked))
        return await self._file.run(partial(self._claim_flows, asked, flows))

    async def flows(self, *, is_thorough: bool = False) -> Look:  # noqa: ARG002 - every look is thorough here
        # Where there are more, the next look begins after these.
        look = Round(self._flows_after)
        found = await self._file.run(partial(self._flows, look))
        self._flows_after = look.after
        return Look(found, is_all=len(found) < FLOWS_AT_MOST)

    async def claim_suspect(self, *, token: Token, lease: float) -> Claim | None:
        return await self._file.run(partial(self._claim_suspect, self._lease(token, lease)))

    async def has_suspects(self) -> bool:
        return await self._file.run(partial(self._has_suspects, {"now": rows.micros(self._clock.now())}))

    async def renew(self, *, tokens: Sequence[Token], lease: float) -> None:
        await self._file.run(partial(self._renew, [self._lease(token, lease) for token in tokens]))

    async def abandon(self, *, worker: WorkerId) -> int:
        first, last = tokens_of(worker)
        asked = {"first": first, "last": last, "now": rows.micros(self._clock.now())}
        return await self._file.run(partial(self._abandon, asked))

    async def unhandled(self) -> Sequence[UnhandledCount]:
        return await self._file.run(self._unhandled)

    async def requeue(self, *, source: str, type: str, limit: int) -> int:  # noqa: A002 - as the port has it
        return await self._file.run(partial(self._requeue, {"source": source, "type": type, "limit": limit}))

    async def resume(self, *, limit: int) -> int:
        return await self._file.run(partial(self._resume, limit))

    def _lease(self, token: Token, lease: float) -> dict[str, Any]:
        now = rows.micros(self._clock.now())
        return {"token": token, "now": now, "until": now + rows.micros_in(lease)}

    def _claim(self, asked: dict[str, Any]) -> list[Claim]:
        """Crash after the COMMIT: the lease expires, and the events are looked at one by one."""
        with self._file.writing(durable=False) as connection:
            self._wake(connection, asked)
            return self._leased(connection, asked, ask(connection, "claim", asked))

    def _claim_flows(self, asked: dict[str, Any], flows: Sequence[Flow]) -> list[Claim]:
        with self._file.writing(durable=False) as connection:
            ready = [ask(connection, "flow_ready", {**asked, **flow._asdict()}) for flow in flows]
            places = sorted(seq for found in ready for (seq,) in found)[: asked["limit"]]
            found = ask(connection, "claim_flows", {**asked, "places": json.dumps(places)})
            return self._leased(connection, asked, found)

    def _flows(self, look: Round) -> list[Flow]:
        ready: dict[tuple[str, str], Flow] = {}
        with self._file.writing(durable=False) as connection:
            self._wake(connection, {"now": rows.micros(self._clock.now())})
            is_over = False
            while not is_over and len(ready) < FLOWS_AT_MOST:
                source, type_ = look.after
                found = ask(connection, "flows", {"source": source, "type": type_, "limit": FLOWS_AT_MOST})
                ready |= {row[:2]: Flow(*row) for row in found if row[2] is not None}
                is_over = look.is_over([row[:2] for row in found])
        return [*ready.values()]

    def _wake(self, connection: apsw.Connection, asked: dict[str, Any]) -> None:
        woken = ask(connection, "wake", {**asked, "limit": WOKEN_AT_ONCE})
        connection.executemany(SQL["unshelve"], woken)

    def _claim_suspect(self, asked: dict[str, Any]) -> Claim | None:
        """Crash after the COMMIT: the lease expires, and the crash is counted."""
        with self._file.writing(durable=False) as connection:
            found = self._leased(connection, asked, ask(connection, "claim_suspect", asked))
            return found[0] if found else None

    def _leased(self, connection: apsw.Connection, asked: dict[str, Any], leased: Sequence[tuple[int]]) -> list[Claim]:
        if not leased:
            return []
        places = {"places": json.dumps([seq for (seq,) in leased])}
        claims = [rows.claim(row) for row in connection.execute(SQL["claimed"], places)]
        refused: list[Settlement] = []
        if len(claims) < len(leased):
            refused = [without_body(*row) for row in ask(connection, "bodiless", places)]
        opened, sealed = boxes.open_claims(connection, self._seal, claims)
        for settlement in (*refused, *sealed):
            apply(connection, settlement, asked["now"])
        return opened

    def _has_suspects(self, asked: dict[str, Any]) -> bool:
        with self._file.reading() as connection:
            return bool(ask(connection, "has_suspects", asked)[0][0])

    def _renew(self, leases: Sequence[dict[str, Any]]) -> None:
        with self._file.writing(durable=False) as connection:
            connection.executemany(SQL["renew"], leases)

    def _abandon(self, asked: dict[str, Any]) -> int:
        with self._file.writing(durable=False) as connection:
            return len(ask(connection, "abandon", asked))

    def _unhandled(self) -> list[UnhandledCount]:
        with self._file.reading() as connection:
            return [UnhandledCount(*row) for row in ask(connection, "unhandled")]

    def _requeue(self, asked: dict[str, Any]) -> int:
        """Crash before the COMMIT: they are unhandled as before, and the next worker that asks finds them again."""
        back = partial(_unshelve, statement="requeue", signal=Signal.REQUEUE, now=rows.micros(self._clock.now()))
        with self._file.writing(durable=False) as connection:
            return sum(back(connection, *place) for place in ask(connection, "requeue_candidates", asked))

    def _resume(self, limit: int) -> int:
        """Crash before the COMMIT: the next one who asks finds them again."""
        now = rows.micros(self._clock.now())
        back = partial(_unshelve, statement="resume", signal=Signal.RESUME, now=now)
        with self._file.writing(durable=False) as connection:
            free = ask(connection, "resume_candidates", {"now": now, "limit": limit})
            return sum(back(connection, *place) for place in free)


def _unshelve(
    connection: apsw.Connection, body_seq: int, event: EventId, *, statement: str, signal: Signal, now: int
) -> bool:
    moved = ask(connection, statement, (body_seq, event))
    for received_at, run in moved:
        ask(connection, "unshelve", (body_seq, event))
        history.add(connection, event, received_at, at=now, run=run, signal=signal)
    return bool(moved)
