"""The workers' side: claim, renew, abandon, requeue. Settling is in `settle`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from landfast.domain.flow import FLOWS_AT_MOST, START, Flow, Look, Name, Round
from landfast.domain.holding import HOLD_AT_ONCE
from landfast.domain.ids import EventId, Token, WorkerId, tokens_of
from landfast.domain.lifecycle import MOVES, Signal
from landfast.domain.outcome import Claim, Settlement, without_body
from landfast.domain.unhandled import UnhandledCount
from landfast.inboxes.sqlite import boxes, lanes, moves, rows
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
        ready: dict[Name, Flow] = {}
        with self._file.writing(durable=False) as connection:
            _wake(connection, rows.micros(self._clock.now()))
            is_over = False
            while not is_over and len(ready) < FLOWS_AT_MOST:
                source, type_, is_replay = look.after
                asked = {"source": source, "type": type_, "is_replay": is_replay, "limit": FLOWS_AT_MOST}
                found = [
                    (Flow(row[0], row[1], row[2] or 0, bool(row[3])), row[2]) for row in ask(connection, "flows", asked)
                ]
                ready |= {flow.name: flow for flow, first in found if first is not None}
                is_over = look.is_over([flow.name for flow, _ in found])
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
    def claim_event(self, event: EventId, *, token: Token, lease: float, held_for: str) -> Claim | None:
        """Crash after the COMMIT: the lease expires."""
        asked = {**self._lease(token, lease), "event_id": event}
        with self._file.writing(durable=False) as connection:
            leased = ask(connection, "claim_event", asked)
            if not leased and moves.make_claimable(connection, event, held_for, at=asked["now"]):
                leased = ask(connection, "claim_event", asked)
            found = self._leased(connection, asked, leased)
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

    @in_thread
    def stir(self, reasons: Sequence[str]) -> int:
        """Crash before the COMMIT: whoever stirs has not told what it did yet, and its successor stirs again."""
        (move,) = MOVES[Signal.STIR]
        now = rows.micros(self._clock.now())
        with self._file.writing(durable=False) as connection:
            found = [
                each
                for reason in sorted(set(reasons))
                for each in ask(connection, "stir_candidates", {"reason": reason})
            ]
            return moves.from_shelf(connection, move, found, at=now)

    @in_thread
    def order(self, sources: Sequence[str]) -> None:
        """Crash before the COMMIT: the next worker that starts does it. What is recorded after it holds its lane."""
        with self._file.writing(durable=True) as connection:
            for source in sources:
                if ask(connection, "order_sources", (source,)):
                    ask(connection, "order_work", {"source": source})
                    ask(connection, "order_shelf", {"source": source, "states": json.dumps(list(HOLD_AT_ONCE))})

    def _lease(self, token: Token, lease: float) -> dict[str, Any]:
        now = rows.micros(self._clock.now())
        return {"token": token, "now": now, "until": now + rows.micros_in(lease)}

    def _leased(
        self, connection: apsw.Connection, asked: dict[str, Any], leased: Sequence[tuple[int]]
    ) -> Sequence[Claim]:
        if not leased:
            return []
        taken, fronts = lanes.walk(connection, [seq for (seq,) in leased], asked)
        places = {"places": json.dumps(taken)}
        claims = [rows.claim(row, fronts) for row in connection.execute(SQL["claimed"], places)]
        refused: list[Settlement] = []
        if len(claims) < len(taken):
            refused = [without_body(*row) for row in ask(connection, "bodiless", places)]
        opened, sealed = boxes.open_claims(connection, self._seal, claims)
        if not refused and not sealed:
            return opened
        for settlement in (*refused, *sealed):
            moves.settle(connection, settlement, asked["now"])
        return lanes.look_again(connection, opened, taken, asked)


def _wake(connection: apsw.Connection, now: int) -> None:
    (move,) = MOVES[Signal.WAKE]
    woken = ask(connection, "wake", {"now": now, "states": moves.STATES[move.way], "limit": WOKEN_AT_ONCE})
    connection.executemany(SQL["leave_shelf"], woken)
