"""Staged effects on PostgreSQL: each call is one statement, on the server's time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from landfast.domain.effect import (
    FREED,
    HELD,
    SKIPPED,
    WAITS,
    ClaimedEffect,
    EffectSettlement,
    EffectSignal,
    EffectState,
    move,
)
from landfast.domain.ids import ReceiptDigest, Token, WorkerId
from landfast.ledgers import boxes, limits
from landfast.ledgers import rows as shared
from landfast.ledgers.postgres import faults, rows
from landfast.sealing import Seal, StoreKey

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.pool import Pool


class PostgresEffects:
    """An EffectStore. Crash before a statement's answer: the lease runs out, and the effect is performed again under
    the same key."""

    _desk: Pool[Record]
    _seal: Seal
    _connection: Callable[[], AbstractAsyncContextManager[Any]]

    async def claim(self, *, token: Token, lease: float, limit: int) -> Sequence[ClaimedEffect]:
        found = await self._fetch("effects_claim", token, lease, limit, False, HELD)
        return await self._opened(
            [shared.claimed(row, token) for row in sorted(found, key=lambda row: int(row["seq"]))]
        )

    async def claim_suspect(self, *, token: Token, lease: float) -> ClaimedEffect | None:
        found = await self._fetch("effects_claim", token, lease, 1, True, HELD)
        opened = await self._opened([shared.claimed(row, token) for row in found])
        return opened[0] if opened else None

    async def has_suspects(self) -> bool:
        return bool(await self._fetch("effects_suspects", HELD))

    async def holds(self, effect: ClaimedEffect) -> bool:
        return bool(await self._fetch("effects_held", effect.staged.key, effect.staged.run, effect.token, HELD))

    async def arrived(self, effect: ClaimedEffect) -> str | None:
        staged, awaits = effect.staged, effect.staged.step.arrival
        if awaits is None:
            return None
        found = await self._fetch("arrivals_read", awaits.key, staged.key, staged.run, awaits.back)
        return str(found[0]["event"]) if found else None

    async def settle(self, settlements: Sequence[EffectSettlement]) -> Sequence[bool]:
        said = any(each.message or each.trace or each.result for each in settlements)
        if self._seal.store_key is not None and said:
            await self._fetch("store_key_add", *self._seal.store_key)
        asked = (*rows.settlement_columns(boxes.seal_settlements(self._seal, settlements)), HELD)
        freeing = {(each.key, each.run) for each in settlements if each.frees}
        name = "effects_settle"
        found = await (self._end_steps(name, asked, freeing) if freeing else self._fetch(name, *asked))
        settled = {(row["key"], row["run"], row["token"]) for row in found}
        return [(each.key, each.run, each.token) in settled for each in settlements]

    async def _end_steps(
        self, name: str, asked: Sequence[Any], freeing: AbstractSet[tuple[str, int]]
    ) -> Sequence[Record]:
        """Crash before the COMMIT: they are performed again under the same keys. After it: those that waited are free.
        READ COMMITTED, whatever the server's default is: of two that end together, the second must see the first."""
        try:
            async with (
                asyncio.timeout(limits.ANSWER_WAIT),
                self._connection() as connection,
                connection.transaction(isolation="read_committed"),
            ):
                found = await connection.fetch(rows.SQL[name], *asked)
                done = sorted({(row["key"], row["run"]) for row in found} & freeing)
                keys, runs = [key for key, _ in done], [run for _, run in done]
                await connection.execute(rows.SQL["steps_free"], keys, runs, WAITS, *FREED)
                await connection.execute(rows.SQL["waits_end"], keys, runs)
                return list(found)
        except faults.ANY as error:
            raise faults.unavailable(error) from error

    async def renew(self, *, tokens: Sequence[Token], lease: float) -> None:
        await self._fetch("effects_renew", tokens, lease, HELD)

    async def abandon(self, *, worker: WorkerId) -> int:
        return len(await self._fetch("effects_abandon", worker, HELD))

    async def counts(self) -> dict[EffectState, int]:
        found = {row["state"]: row["count"] for row in await self._fetch("effects_counts")}
        return {state: found.get(state, 0) for state in EffectState}

    async def list(
        self, *, digest: ReceiptDigest | None = None, state: EffectState | None = None, limit: int
    ) -> Sequence[dict[str, Any]]:
        found = await self._fetch("effects_list", digest, state and state.value, limit)
        await self._learn(boxes.keys_of_listed(map(dict, found)))
        return [
            boxes.open_listed(
                self._seal, dict(row) | {"state": EffectState(row["state"]), "step": shared.step(row["step"])}
            )
            for row in found
        ]

    async def revive(self, keys: Sequence[tuple[str, int]]) -> int:
        named = [key for key, _ in keys], [run for _, run in keys]
        return len(await self._fetch("effects_revive", *named, *move(EffectSignal.REVIVE)))

    async def skip(self, key: str, run: int, *, result: bytes | None = None) -> bool:
        if self._seal.store_key is not None and result is not None:
            await self._fetch("store_key_add", *self._seal.store_key)
        sealed = boxes.seal_result(self._seal, key, result)
        asked = key, run, *move(EffectSignal.SKIP), SKIPPED, sealed
        return bool(await self._end_steps("effects_skip", asked, {(key, run)}))

    async def _opened(self, effects: Sequence[ClaimedEffect]) -> Sequence[ClaimedEffect]:
        await self._learn(boxes.keys_of_effects(effects))
        opened = [boxes.open_effect(self._seal, each) for each in effects]
        if not (wanted := shared.takes(effects)):
            return opened
        found = await self._fetch("effects_results", [key for key, _ in wanted], [run for _, run in wanted])
        results = {(row["key"], row["run"]): row["result"] for row in found}
        await self._learn(boxes.keys_of_results(results.values()))
        return boxes.give_results(self._seal, opened, results)

    async def _learn(self, data_keys: Iterable[bytes | None]) -> None:
        if self._seal.lacks(data_keys):
            self._seal.learn(StoreKey(*row) for row in await self._fetch("store_keys"))

    async def _fetch(self, name: str, *values: Any) -> Sequence[Record]:
        try:
            return await self._desk.fetch(rows.SQL[name], *values, timeout=limits.ANSWER_WAIT)
        except faults.ANY as error:
            raise faults.unavailable(error) from error
