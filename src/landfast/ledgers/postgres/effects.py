"""Staged effects on PostgreSQL: each call is one statement, on the server's time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from landfast.domain.effect import HELD, ClaimedEffect, EffectSettlement, EffectSignal, EffectState, move
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

    async def settle(self, settlements: Sequence[EffectSettlement]) -> Sequence[bool]:
        if self._seal.store_key is not None and any(each.message or each.trace for each in settlements):
            await self._fetch("store_key_add", *self._seal.store_key)
        sealed = boxes.seal_settlements(self._seal, settlements)
        found = await self._fetch("effects_settle", *rows.settlement_columns(sealed), HELD)
        settled = {(row["key"], row["run"], row["token"]) for row in found}
        return [(each.key, each.run, each.token) in settled for each in settlements]

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
        return [boxes.open_listed(self._seal, dict(row) | {"state": EffectState(row["state"])}) for row in found]

    async def revive(self, keys: Sequence[tuple[str, int]]) -> int:
        named = [key for key, _ in keys], [run for _, run in keys]
        return len(await self._fetch("effects_revive", *named, *move(EffectSignal.REVIVE)))

    async def _opened(self, effects: Sequence[ClaimedEffect]) -> Sequence[ClaimedEffect]:
        await self._learn(boxes.keys_of_effects(effects))
        return [boxes.open_effect(self._seal, each) for each in effects]

    async def _learn(self, data_keys: Iterable[bytes | None]) -> None:
        if self._seal.lacks(data_keys):
            self._seal.learn(StoreKey(*row) for row in await self._fetch("store_keys"))

    async def _fetch(self, name: str, *values: Any) -> Sequence[Record]:
        try:
            return await self._desk.fetch(rows.SQL[name], *values, timeout=limits.ANSWER_WAIT)
        except faults.ANY as error:
            raise faults.unavailable(error) from error
