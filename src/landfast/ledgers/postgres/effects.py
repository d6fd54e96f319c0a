"""Staged effects on PostgreSQL: each call is one statement, on the server's time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from landfast.domain.ids import ReceiptDigest, Token, WorkerId
from landfast.domain.outcome import ClaimedEffect, EffectSettlement, EffectState
from landfast.ledgers import limits
from landfast.ledgers.postgres import faults, rows

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.pool import Pool


class PostgresEffects:
    """An EffectStore. Crash before a statement's answer: the lease runs out, and the effect is performed again under
    the same key."""

    _desk: Pool[Record]

    async def claim(self, *, token: Token, lease: float, limit: int) -> Sequence[ClaimedEffect]:
        found = await self._fetch("effects_claim", token, lease, limit, False)
        return [rows.claimed(row, token) for row in sorted(found, key=lambda row: int(row["seq"]))]

    async def claim_suspect(self, *, token: Token, lease: float) -> ClaimedEffect | None:
        found = await self._fetch("effects_claim", token, lease, 1, True)
        return rows.claimed(found[0], token) if found else None

    async def has_suspects(self) -> bool:
        return bool(await self._fetch("effects_suspects"))

    async def settle(self, settlements: Sequence[EffectSettlement]) -> Sequence[bool]:
        found = await self._fetch("effects_settle", *rows.settlement_columns(settlements))
        settled = {(row["key"], row["run"], row["token"]) for row in found}
        return [(each.key, each.run, each.token) in settled for each in settlements]

    async def renew(self, *, tokens: Sequence[Token], lease: float) -> None:
        await self._fetch("effects_renew", tokens, lease)

    async def abandon(self, *, worker: WorkerId) -> int:
        return len(await self._fetch("effects_abandon", worker))

    async def counts(self) -> dict[EffectState, int]:
        found = {row["state"]: row["count"] for row in await self._fetch("effects_counts")}
        return {state: found.get(state, 0) for state in EffectState}

    async def list(
        self, *, digest: ReceiptDigest | None = None, state: EffectState | None = None, limit: int
    ) -> Sequence[dict[str, Any]]:
        found = await self._fetch("effects_list", digest, state and state.value, limit)
        return [dict(row) | {"state": EffectState(row["state"])} for row in found]

    async def retry(self, keys: Sequence[tuple[str, int]]) -> int:
        return len(await self._fetch("effects_retry", [key for key, _ in keys], [run for _, run in keys]))

    async def _fetch(self, name: str, *values: Any) -> Sequence[Record]:
        try:
            return await self._desk.fetch(rows.SQL[name], *values, timeout=limits.ANSWER_WAIT)
        except faults.ANY as error:
            raise faults.unavailable(error) from error
