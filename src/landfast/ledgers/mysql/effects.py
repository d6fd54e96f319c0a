"""Staged effects on MySQL: each call is one transaction at the desk, on the server's time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any, TypeVar

from landfast.domain.effect import (
    HELD,
    SKIPPED,
    ClaimedEffect,
    EffectSettlement,
    EffectSignal,
    EffectState,
    move,
)
from landfast.domain.ids import ReceiptDigest, Token, WorkerId
from landfast.domain.micros import micros_in
from landfast.ledgers import boxes
from landfast.ledgers import rows as shared
from landfast.ledgers.mysql import faults, receipts, rows
from landfast.ledgers.mysql.desk import Desk, Work
from landfast.ledgers.mysql.freeing import free
from landfast.ledgers.mysql.statements import Statements, change_all
from landfast.ledgers.rows import Row
from landfast.sealing import Seal

T = TypeVar("T")


class MysqlEffects:
    """An EffectStore. Crash before the COMMIT: the lease runs out, and the effect is performed again under the same
    key."""

    _desk: Desk
    _seal: Seal

    async def claim(self, *, token: Token, lease: float, limit: int) -> Sequence[ClaimedEffect]:
        return await self._claim(token, lease, limit, suspects=False)

    async def claim_suspect(self, *, token: Token, lease: float) -> ClaimedEffect | None:
        found = await self._claim(token, lease, 1, suspects=True)
        return found[0] if found else None

    async def has_suspects(self) -> bool:
        return bool(await self._fetch("effects_suspects", held=HELD.value))

    async def holds(self, effect: ClaimedEffect) -> bool:
        named = {"key": effect.staged.key, "run": effect.staged.run, "token": effect.token}
        return bool(await self._fetch("effects_held", **named, held=HELD.value))

    async def arrived(self, effect: ClaimedEffect) -> str | None:
        awaits = effect.staged.step.arrival
        if awaits is None:
            return None
        named = {"key": effect.staged.key, "run": effect.staged.run, "arrival": awaits.key}
        found = await self._fetch("arrivals_read", **named, back=micros_in(awaits.back))
        return str(found[0]["event"]) if found else None

    async def settle(self, settlements: Sequence[EffectSettlement]) -> Sequence[bool]:
        sealed = boxes.seal_settlements(self._seal, settlements)

        async def work(statements: Statements) -> list[bool]:
            if any(each.message or each.trace or each.result for each in settlements):
                await receipts.add_store_key(statements, self._seal)
            held = {"held": HELD.value}
            took = [
                await statements.execute(rows.SQL["effects_settle"], rows.settlement(each) | held) == 1
                for each in sealed
            ]
            ended = [each for each, is_so in zip(sealed, took, strict=True) if is_so and each.frees]
            await free(statements, [(each.key, each.run) for each in ended])
            return took

        return await self._run(work)

    async def renew(self, *, tokens: Sequence[Token], lease: float) -> None:
        until = {"lease": micros_in(lease), "held": HELD.value}
        leases = [{"token": token} | until for token in tokens]
        await self._run(lambda statements: change_all(statements, "effects_renew", leases))

    async def abandon(self, *, worker: WorkerId) -> int:
        return await self._change("effects_abandon", worker=worker, held=HELD.value)

    async def counts(self) -> dict[EffectState, int]:
        found = {row["state"]: row["count"] for row in await self._fetch("effects_counts")}
        return {state: found.get(state, 0) for state in EffectState}

    async def list(
        self, *, digest: ReceiptDigest | None = None, state: EffectState | None = None, limit: int
    ) -> Sequence[dict[str, Any]]:
        asked = {"digest": digest, "state": state and state.value, "limit": limit}

        async def work(statements: Statements) -> list[dict[str, Any]]:
            found: list[Any] = [*await statements.fetch(rows.SQL["effects_list"], asked)]
            if self._seal.lacks(boxes.keys_of_listed(found)):
                self._seal.learn(await receipts.store_keys(statements))
            return found

        listed = [
            row
            | {"state": EffectState(row["state"]), "created_at": row["created_at"].replace(tzinfo=UTC)}
            | {"step": shared.step(row["step"]), "at": row["at"] and row["at"].replace(tzinfo=UTC)}
            for row in await self._run(work)
        ]
        return [boxes.open_listed(self._seal, row) for row in listed]

    async def revive(self, keys: Sequence[tuple[str, int]]) -> int:
        before, then = move(EffectSignal.REVIVE)
        changed = [{"key": key, "run": run, "before": before.value, "then": then.value} for key, run in keys]
        return await self._run(lambda statements: change_all(statements, "effects_revive", changed))

    async def skip(self, key: str, run: int, *, result: bytes | None = None) -> bool:
        before, then = move(EffectSignal.SKIP)
        named = {"key": key, "run": run, "before": before.value, "then": then.value, "skipped": SKIPPED}
        asked = named | {"result": boxes.seal_result(self._seal, key, result)}

        async def work(statements: Statements) -> bool:
            if result is not None:
                await receipts.add_store_key(statements, self._seal)
            took = await statements.execute(rows.SQL["effects_skip"], asked) == 1
            await free(statements, [(key, run)] if took else [])
            return took

        return await self._run(work)

    async def _claim(self, token: Token, lease: float, limit: int, *, suspects: bool) -> Sequence[ClaimedEffect]:
        wanted = {"limit": limit, "suspects": suspects, "held": HELD.value}
        until = {"token": token, "lease": micros_in(lease), "held": HELD.value}

        async def work(statements: Statements) -> tuple[list[ClaimedEffect], dict[tuple[str, int], bytes | None]]:
            due = await statements.fetch(rows.SQL["effects_due"], wanted)
            marks = [{name: row[name] for name in ("seq", "suspect", "crashes")} | until for row in due]
            await change_all(statements, "effects_claim", marks)
            claimed = [shared.claimed(row, token) for row in due]
            results = await _results(statements, claimed)
            if self._seal.lacks([*boxes.keys_of_effects(claimed), *boxes.keys_of_results(results.values())]):
                self._seal.learn(await receipts.store_keys(statements))
            return claimed, results

        claimed, results = await self._run(work)
        return boxes.give_results(self._seal, [boxes.open_effect(self._seal, each) for each in claimed], results)

    async def _fetch(self, name: str, **values: Any) -> Sequence[Row]:
        return await self._run(lambda statements: statements.fetch(rows.SQL[name], values))

    async def _change(self, name: str, **values: Any) -> int:
        return await self._run(lambda statements: change_all(statements, name, [values]))

    async def _run(self, work: Work[T]) -> T:
        try:
            return await self._desk.run(work)
        except faults.ANY as error:
            raise faults.unavailable(error) from error


async def _results(statements: Statements, claimed: Sequence[ClaimedEffect]) -> dict[tuple[str, int], bytes | None]:
    """What those returned whose results they take."""
    asked = [{"key": key, "run": run} for key, run in shared.takes(claimed)]
    found = [row for each in asked for row in await statements.fetch(rows.SQL["effects_results"], each)]
    return {(row["key"], row["run"]): row["result"] for row in found}
