"""Staged effects on SQLite: claimed, leased and settled by the one writer of the file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from landfast.domain.effect import HELD, SKIPPED, ClaimedEffect, EffectSettlement, EffectSignal, EffectState, move
from landfast.domain.ids import ReceiptDigest, Token, WorkerId
from landfast.domain.micros import micros, micros_in, moment
from landfast.domain.text import storable
from landfast.ledgers import boxes
from landfast.ledgers import rows as shared
from landfast.ledgers.sqlite import faults, rows
from landfast.ledgers.sqlite.thread import ConnectionThread
from landfast.ports.clock import Clock
from landfast.sealing import Seal, StoreKey

T = TypeVar("T")


class SqliteEffects:
    """An EffectStore. The time of each call is when it was made, not when the file was free: a lease that a slow
    handler kept us from renewing has not expired."""

    def __init__(self, writer: ConnectionThread, reader: ConnectionThread, *, clock: Clock, seal: Seal) -> None:
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._seal = seal
        self._lock = asyncio.Lock()

    async def claim(self, *, token: Token, lease: float, limit: int) -> Sequence[ClaimedEffect]:
        return await self._claim(token, lease, limit, suspects=False)

    async def claim_suspect(self, *, token: Token, lease: float) -> ClaimedEffect | None:
        found = await self._claim(token, lease, 1, suspects=True)
        return found[0] if found else None

    async def has_suspects(self) -> bool:
        return bool(await self._read("effects_suspects", {"now": self._now(), "held": HELD}))

    async def holds(self, effect: ClaimedEffect) -> bool:
        named = {"key": effect.staged.key, "run": effect.staged.run, "token": effect.token, "held": HELD}
        return bool(await self._read("effects_held", named))

    async def _claim(self, token: Token, lease: float, limit: int, *, suspects: bool) -> Sequence[ClaimedEffect]:
        now = self._now()

        def work(connection: sqlite3.Connection) -> Sequence[ClaimedEffect]:
            wanted = {"now": now, "limit": limit, "suspects": suspects, "held": HELD}
            due = connection.execute(rows.SQL["effects_due"], wanted).fetchall()
            until = {"token": token, "now": now, "until": now + micros_in(lease), "held": HELD}
            marks = ({name: row[name] for name in ("seq", "suspect", "crashes")} | until for row in due)
            connection.executemany(rows.SQL["effects_claim"], marks)
            claimed = [shared.claimed(row, token) for row in due]
            results = rows.results_for(connection, claimed)
            keys = [*boxes.keys_of_effects(claimed), *boxes.keys_of_results(results.values())]
            rows.learn_store_keys(connection, self._seal, keys)
            opened = [boxes.open_effect(self._seal, effect) for effect in claimed]
            return boxes.give_results(self._seal, opened, results)

        return await self._write(work)

    async def arrived(self, effect: ClaimedEffect) -> str | None:
        awaits = effect.staged.step.arrival
        if awaits is None:
            return None
        named = {"key": effect.staged.key, "run": effect.staged.run, "arrival": awaits.key}
        found = await self._read("arrivals_read", named | {"back": micros_in(awaits.back)})
        return str(found[0]["event"]) if found else None

    async def settle(self, settlements: Sequence[EffectSettlement]) -> Sequence[bool]:
        now = self._now()
        sealed = boxes.seal_settlements(self._seal, settlements)

        def work(connection: sqlite3.Connection) -> list[bool]:
            rows.add_store_key(connection, self._seal)
            return [_settle(connection, each, now) for each in sealed]

        return await self._write(work)

    async def renew(self, *, tokens: Sequence[Token], lease: float) -> None:
        now = self._now()
        until = {"now": now, "until": now + micros_in(lease), "held": HELD}
        leases = [{"token": token} | until for token in tokens]
        await self._write(lambda connection: connection.executemany(rows.SQL["effects_renew"], leases))

    async def abandon(self, *, worker: WorkerId) -> int:
        return await self._change("effects_abandon", {"worker": worker, "now": self._now(), "held": HELD})

    async def counts(self) -> dict[EffectState, int]:
        found = {row["state"]: row["count"] for row in await self._read("effects_counts", {})}
        return {state: found.get(state, 0) for state in EffectState}

    async def list(
        self, *, digest: ReceiptDigest | None = None, state: EffectState | None = None, limit: int
    ) -> Sequence[dict[str, Any]]:
        found = await self._read("effects_list", {"digest": digest, "state": state, "limit": limit})
        if self._seal.lacks(boxes.keys_of_listed(map(dict, found))):
            self._seal.learn(StoreKey(*row) for row in await self._read("store_keys", {}))
        listed = [
            dict(row)
            | {"state": EffectState(row["state"]), "created_at": moment(row["created_at"])}
            | {"step": shared.step(row["step"]), "at": None if row["at"] is None else moment(row["at"])}
            for row in found
        ]
        return [boxes.open_listed(self._seal, row) for row in listed]

    async def revive(self, keys: Sequence[tuple[str, int]]) -> int:
        now = self._now()
        before, then = move(EffectSignal.REVIVE)
        changed = [{"key": key, "run": run, "now": now, "before": before, "then": then} for key, run in keys]
        return await self._write(
            lambda connection: sum(connection.execute(rows.SQL["effects_revive"], each).rowcount for each in changed)
        )

    async def skip(self, key: str, run: int, *, result: bytes | None = None) -> bool:
        now, (before, then) = self._now(), move(EffectSignal.SKIP)
        named = {"key": key, "run": run, "now": now, "before": before, "then": then, "skipped": SKIPPED}
        asked = named | {"result": boxes.seal_result(self._seal, key, result)}

        def work(connection: sqlite3.Connection) -> bool:
            rows.add_store_key(connection, self._seal)
            took = connection.execute(rows.SQL["effects_skip"], asked).rowcount == 1
            if took:
                rows.free(connection, key, run, now)
            return took

        return await self._write(work)

    def _now(self) -> int:
        return micros(self._clock.now())

    async def _change(self, name: str, values: dict[str, Any]) -> int:
        return await self._write(lambda connection: connection.execute(rows.SQL[name], values).rowcount)

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        # Crash before the COMMIT: the lease runs out, and the effect is performed again under the same key.
        async with self._lock:
            try:
                return await self._writer.run(lambda connection: rows.atomically(connection, work))
            except sqlite3.Error as error:
                raise faults.unavailable(error) from error

    async def _read(self, name: str, values: dict[str, Any]) -> Sequence[sqlite3.Row]:
        try:
            return await self._reader.run(lambda connection: connection.execute(rows.SQL[name], values).fetchall())
        except sqlite3.Error as error:
            raise faults.unavailable(error) from error


def _settle(connection: sqlite3.Connection, settlement: EffectSettlement, now: int) -> bool:
    took = connection.execute(rows.SQL["effects_settle"], _settlement(settlement, now)).rowcount == 1
    if took and settlement.frees:
        rows.free(connection, settlement.key, settlement.run, now)
    return took


def _settlement(settlement: EffectSettlement, now: int) -> dict[str, Any]:
    return {
        "key": settlement.key,
        "run": settlement.run,
        "token": settlement.token,
        "held": HELD,
        "state": settlement.state,
        "keeps": settlement.keeps_tries,
        "due": now + micros_in(settlement.due_in),
        "done": now if settlement.is_over else None,
        "count": settlement.tries.count,
        "spent": settlement.tries.spent,
        "unknown": settlement.unknown_seconds,
        "error": storable(settlement.error),
        "message": storable(settlement.message),
        "trace": storable(settlement.trace),
        "result": settlement.result,
    }
