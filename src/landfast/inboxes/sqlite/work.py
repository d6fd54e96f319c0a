"""The workers' side: claim, renew, abandon, requeue. Settling is in `settle`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from landfast.domain.flow import FLOWS_AT_MOST, START, Flow, Look, Round
from landfast.domain.ids import Token, WorkerId, tokens_of
from landfast.domain.lifecycle import MOVES, Signal
from landfast.domain.outcome import Claim, Settlement, without_body
from landfast.domain.unhandled import UnhandledCount
from landfast.inboxes.sqlite import boxes, moves, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
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

    @in_thread
    def claim(self, *, token: Token, lease: float, limit: int, flows: Sequence[Flow] | None = None) -> Sequence[Claim]:
        """Crash after the COMMIT: the lease expires, and the events are looked at one by one."""
        asked = {**self._lease(token, lease), "limit": limit}
        with self._file.writing(durable=False) as connection:
            if flows is None:
                _wake(connection, asked["now"])
                return self._leased(connection, asked, ask(connection, "claim", asked))
            ready = [ask(connection, "flow_ready", {**asked, **flow._asdict()}) for flow in flows]
            places = sorted(seq for found in ready for (seq,) in found)[:limit]
            found = ask(connection, "claim_flows", {**asked, "places": json.dumps(places)})
            return self._leased(connection, asked, found)

    @in_thread
    def flows(self, *, is_thorough: bool = False) -> Look:  # noqa: ARG002 - every look is thorough here
        # Where there are more, the next look begins after these.
        look = Round(self._flows_after)
        ready: dict[tuple[str, str], Flow] = {}
        with self._file.writing(durable=False) as connection:
            _wake(connection, rows.micros(self._clock.now()))
            is_over = False
            while not is_over and len(ready) < FLOWS_AT_MOST:
                source, type_ = look.after
                found = ask(connection, "flows", {"source": source, "type": type_, "limit": FLOWS_AT_MOST})
                ready |= {row[:2]: Flow(*row) for row in found if row[2] is not None}
                is_over = look.is_over([row[:2] for row in found])
        self._flows_after = look.after
        return Look([*ready.values()], is_all=len(ready) < FLOWS_AT_MOST)

    @in_thread
    def claim_suspect(self, *, token: Token, lease: float) -> Claim | None:
        """Crash after the COMMIT: the lease expires, and the crash is counted."""
        asked = self._lease(token, lease)
        with self._file.writing(durable=False) as connection:
            found = self._leased(connection, asked, ask(connection, "claim_suspect", asked))
            return found[0] if found else None

    @in_thread
    def has_suspects(self) -> bool:
        asked = {"now": rows.micros(self._clock.now())}
        with self._file.reading() as connection:
            return bool(ask(connection, "has_suspects", asked)[0][0])

    @in_thread
    def renew(self, *, tokens: Sequence[Token], lease: float) -> None:
        with self._file.writing(durable=False) as connection:
            connection.executemany(SQL["renew"], [self._lease(token, lease) for token in tokens])

    @in_thread
    def abandon(self, *, worker: WorkerId) -> int:
        first, last = tokens_of(worker)
        asked = {"first": first, "last": last, "now": rows.micros(self._clock.now())}
        with self._file.writing(durable=False) as connection:
            return len(ask(connection, "abandon", asked))

    @in_thread
    def unhandled(self) -> Sequence[UnhandledCount]:
        with self._file.reading() as connection:
            return [UnhandledCount(*row) for row in ask(connection, "unhandled")]

    @in_thread
    def requeue(self, *, source: str, type: str, limit: int) -> int:  # noqa: A002 - as the port has it
        """Crash before the COMMIT: they are unhandled as before, and the next worker that asks finds them again."""
        (move,) = MOVES[Signal.REQUEUE]
        with self._file.writing(durable=False) as connection:
            found = ask(connection, "requeue_candidates", {"source": source, "type": type, "limit": limit})
            return moves.from_shelf(connection, move, found, at=rows.micros(self._clock.now()))

    @in_thread
    def resume(self, *, limit: int) -> int:
        """Crash before the COMMIT: the next one who asks finds them again."""
        (move,) = MOVES[Signal.RESUME]
        (state,) = move.way.states
        now = rows.micros(self._clock.now())
        with self._file.writing(durable=False) as connection:
            asked = {"state": state, "now": now, "limit": limit}
            return moves.from_shelf(connection, move, ask(connection, "resume_candidates", asked), at=now)

    def _lease(self, token: Token, lease: float) -> dict[str, Any]:
        now = rows.micros(self._clock.now())
        return {"token": token, "now": now, "until": now + rows.micros_in(lease)}

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
            moves.settle(connection, settlement, asked["now"])
        return opened


def _wake(connection: apsw.Connection, now: int) -> None:
    (move,) = MOVES[Signal.WAKE]
    (state,) = move.way.states
    woken = ask(connection, "wake", {"now": now, "state": state, "limit": WOKEN_AT_ONCE})
    connection.executemany(SQL["leave_shelf"], woken)
