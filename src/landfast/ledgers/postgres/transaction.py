"""The receipt-first transaction on PostgreSQL, over any wire."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from landfast.domain.arrival import Arrived
from landfast.domain.effect import HELD, ClaimedEffect, StagedEffect
from landfast.domain.errors import CommitUnknownError
from landfast.domain.ids import ReceiptDigest
from landfast.domain.lane import LanePlace
from landfast.domain.lane_memory import LaneMark, LaneState, StateKey
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.ledgers import boxes, control, reserving
from landfast.ledgers import rows as shared
from landfast.ledgers.postgres import arrivals as postgres_arrivals
from landfast.ledgers.postgres import faults, rows, settings, telling
from landfast.ledgers.postgres.lane_memory import PostgresLaneMemory
from landfast.ledgers.postgres.wire import Teller, Wire
from landfast.ports.ledger import Lane, Scope
from landfast.sealing import Seal, StoreKey
from landfast.thread_calls import finish

_NOTHING = (*rows.result_columns(()), *rows.effect_columns(()), None, None, None)
_DIVISION_BY_ZERO = "22012"
"""What `guard_remove` answers with where a guard row is gone."""


class PostgresTransaction:
    """A LedgerTransaction. It has its wire until it was committed or rolled back. Where that blocks, a LanedTransaction
    is around it."""

    lane: Lane | None = None

    def __init__(self, wire: Wire, *, silence: float, seal: Seal) -> None:
        self._wire = wire
        self._lanes = PostgresLaneMemory(wire)
        self._seal = seal
        self._silence = silence
        self._guards: list[object] = []
        """Where our guard rows are, one for each insert of receipts, but for the first if that was told."""
        self._is_told = False
        """The place of the first guard row is known to the server alone."""
        self._is_serializable = False
        self._to_begin: tuple[str, ...] = ()
        """What is still to be said before anything else."""
        self._ours: set[ReceiptKey] = set()
        self._has_had_handlers = False
        self._is_over = False
        self._giving_back: asyncio.Future[None] | None = None

    async def begin(self, isolation: str) -> None:
        """Nothing is sent: where the receipts are inserted first, that and this are one round trip."""
        self._to_begin = settings.begin(isolation, silence=self._silence)
        self._is_serializable = isolation == "SERIALIZABLE"

    async def reserve(
        self, keys: Sequence[ReceiptKey], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt | None]:
        with faults.own_statement():
            return await reserving.reserve(self, keys, forced)

    async def bury(
        self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt]:
        with faults.own_statement():
            return await reserving.bury(self, tombstones, forced)

    async def insert(self, receipts: Sequence[Receipt]) -> Collection[ReceiptKey]:
        is_plain = all(each.outcome is Outcome.DONE and each.result is None for each in receipts)
        if self._to_begin and self._wire.teller is not None and is_plain:
            return await self._take(self._wire.teller, [each.key for each in receipts])
        sealed = boxes.seal_receipts(self._seal, receipts)
        await self._begun(with_next=sealed is receipts)
        if sealed is not receipts and self._seal.store_key is not None:
            await self._wire.execute(rows.SQL["store_key_add"], *self._seal.store_key)
        # A handler is about to run, unless these close earlier runs or bury.
        relaxes = all(each.outcome is Outcome.DONE for each in receipts)
        found = await self._wire.fetch(rows.SQL["receipts_insert"], *rows.receipt_columns(sealed), relaxes)
        self._guards.append(found[0]["place"])
        inserted = {shared.receipt_key(row) for row in found if row["digest"] is not None}
        self._ours |= inserted
        return inserted

    async def _take(self, teller: Teller, keys: Sequence[ReceiptKey]) -> Collection[ReceiptKey]:
        """Begin, and the receipts."""
        inserted = set(keys)
        # One statement in place of eight: the server spends less on them, and the driver has fewer answers to read.
        given = {**settings.values(silence=self._silence), "lock_timeout": settings.LOCK_WAIT}
        self._to_begin = self._to_begin[:1]
        columns = (*rows.key_columns(keys), Outcome.DONE, list(given), list(given.values()))
        tag = await self._say_first(teller, "receipts_take", *columns)
        self._is_told = True
        if self._is_serializable:
            # A RESET ALL would have the server look for it among everybody's rows, and that is a conflict.
            await self._find_guard()
        if telling.count(tag) < len(inserted):
            digests = [key.digest for key in keys]
            inserted = {shared.receipt_key(row) for row in await self._wire.fetch(rows.SQL["receipts_taken"], digests)}
        self._ours |= inserted
        return inserted

    async def _begun(self, *, with_next: bool = False) -> None:
        if not self._to_begin:
            return
        with faults.own_statement():
            if self._wire.teller is not None:
                await self._say_first(self._wire.teller)
            else:
                said, self._to_begin = self._to_begin, ()
                await (self._wire.send_with_next if with_next else self._wire.send)(said)

    async def _say_first(self, teller: Teller, *call: Any) -> str:
        """BEGIN with its settings, and the call of a statement; the command tag. None of it counts before COMMIT, so
        whatever a dead connection has heard of it can be said again on another."""
        said, self._to_begin = self._to_begin, ()
        await teller.connect()
        while True:
            statements = teller.statements
            try:
                tag = await teller.tell("; ".join([*said, statements.call(*call)] if call else said))
            except faults.ANY as error:
                if statements.failed(error):
                    await teller.tell("ROLLBACK")
                elif not await teller.renew():
                    raise
            else:
                statements.heard()
                return tag

    async def read(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]:
        await self._begun()
        receipts = [shared.receipt(row) for row in await self._wire.fetch(rows.SQL["receipts_read"], digests)]
        if self._seal.lacks(boxes.keys_of(receipts)):
            keys = await self._wire.fetch(rows.SQL["store_keys"])
            self._seal.learn(StoreKey(row["id"], row["wrapped"], row["master"]) for row in keys)
        return [boxes.open_receipt(self._seal, each) for each in receipts]

    async def renew(self, digests: Sequence[ReceiptDigest]) -> None:
        await self._wire.execute(rows.SQL["receipts_renew"], digests)

    async def scope(self) -> Scope:
        await self._begun()
        if self._has_had_handlers:
            with faults.own_statement():
                await self._wire.undo_settings(self._as_begun())
        self._has_had_handlers = True
        return self._wire.scope()

    async def mark(self, marks: Sequence[LaneMark]) -> Sequence[LanePlace | None]:
        await self._begun()
        with faults.own_statement():
            return await self._lanes.mark(marks)

    async def lock_states(self, keys: Sequence[StateKey]) -> Sequence[str | None]:
        await self._begun()
        with faults.own_statement():
            return await self._lanes.lock_states(keys)

    async def move_states(self, states: Sequence[LaneState]) -> None:
        with faults.own_statement():
            await self._lanes.move_states(states)

    async def withdraw(self, keys: Sequence[ReceiptKey], *, reached: Sequence[LaneMark] = ()) -> None:
        # Outside of our transaction this would delete what somebody else has committed meanwhile.
        await self.check()
        columns = rows.key_columns([key for key in keys if key in self._ours])
        with faults.own_statement():
            await self._wire.execute(rows.SQL["receipts_withdraw"], *columns)
            await self._lanes.put_back(reached)

    async def holds(self, effect: ClaimedEffect) -> bool:
        await self._begun()
        named = (effect.staged.key, effect.staged.run, effect.token, HELD)
        with faults.own_statement():
            return bool(await self._wire.fetch(rows.SQL["effects_hold"], *named))

    async def check(self) -> None:
        await self._begun()
        self._examine()
        with faults.own_statement():
            await self._find_guard()
            (row,) = await self._wire.fetch(rows.SQL["guard_check"], self._guards)
        self._compare(row["count"])

    async def _find_guard(self) -> None:
        if self._is_told:
            self._is_told = False
            self._guards += [row["place"] for row in await self._wire.fetch(rows.SQL["guard_find"])] or [(0, 0)]

    async def commit(
        self,
        *,
        results: Sequence[tuple[ReceiptKey, bytes]],
        effects: Sequence[StagedEffect],
        arrivals: Sequence[Arrived] = (),
    ) -> None:
        await self._begun()
        self._examine()
        self._wire.end()
        try:
            await self._wire.leave_settings(self._as_begun())
            # Most handlers stage nothing and return nothing.
            staged = await self._stage(results, effects, arrivals) if results or effects or arrivals else ()
            if self._wire.teller is not None:
                await self._commit_at_once(self._wire.teller, staged)
                return
            guards = await self._wire.execute(rows.SQL["commit"], self._guards, *(staged or _NOTHING))
        except faults.ANY as error:
            raise faults.before_commit(error) from error
        self._compare(guards)
        # Crash before the server has the COMMIT on its disk: nothing happened, the event is claimed again. After it:
        # everything did, and the next claim finds the receipt.
        if not await self._wire.commit():
            raise control.swallowed()
        self._end()

    async def _stage(
        self,
        results: Sequence[tuple[ReceiptKey, bytes]],
        effects: Sequence[StagedEffect],
        arrivals: Sequence[Arrived],
    ) -> tuple[Any, ...]:
        """What can be sent with the last statement is left to it."""
        sealed = boxes.seal_results(self._seal, results), boxes.seal_effects(self._seal, effects)
        plain, steps = [each for each in sealed[1] if each.is_plain], [each for each in sealed[1] if not each.is_plain]
        with faults.own_statement():
            ended = await postgres_arrivals.lock(self._wire, steps, arrivals)
        if steps:
            placed = (*rows.effect_columns(steps), *rows.step_columns(steps), *rows.wait_columns(steps))
            await self._wire.execute(rows.SQL["steps_stage"], *placed)
        await postgres_arrivals.end(self._wire, ended, arrivals)
        store_key = self._seal.store_key or (None, None, None)
        columns = (*rows.result_columns(sealed[0]), *rows.effect_columns(plain), *store_key)
        return columns if results or plain or self._wire.teller is None else ()

    async def _commit_at_once(self, teller: Teller, columns: Sequence[Any]) -> None:
        """The same in one round trip: where a guard row is gone, the server gets no further than that."""
        statements = teller.statements
        said = [statements.call("commit", [], *columns)] if columns else []
        said.append(statements.call("guard_remove", self._guards, len(self._guards) + self._is_told))
        try:
            tag = await teller.tell_last("; ".join([*said, "COMMIT"]))
        except faults.ANY as error:
            statements.failed(error)
            raise _why_not(teller, error) from error
        except asyncio.CancelledError as error:
            teller.distrust()
            raise CommitUnknownError("ledger: cancelled while COMMIT was under way") from error
        statements.heard()
        if tag != "COMMIT":
            raise control.swallowed()
        self._end()

    async def rollback(self) -> None:
        self._end()
        if self._giving_back is not None:
            # A cancelled caller goes, the rollback goes on: the connection must be given back.
            await asyncio.shield(self._giving_back)

    def _as_begun(self) -> list[str]:
        return [*settings.RESET, *settings.local(silence=self._silence)]

    def _examine(self) -> None:
        if self._is_over:
            raise control.ended()
        self._wire.examine()

    def _compare(self, guards: int) -> None:
        if guards != len(self._guards):
            raise control.ended_by_handler()

    def _end(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._wire.end()
        if not self._wire.blocks:
            self._giving_back = asyncio.create_task(self._wire.give_back())
        else:
            finish(self._wire.give_back())  # in its thread, where nothing is awaited


def _why_not(teller: Teller, error: Exception) -> Exception:
    """Why there was no COMMIT, or may have been none. One that is refused ends the transaction; an error of what was
    said before it leaves it open."""
    if left := faults.left_behind(error):
        return left
    if not faults.is_answer(error):
        teller.distrust()
    elif teller.is_open:
        is_guard = getattr(error, "sqlstate", None) == _DIVISION_BY_ZERO
        return control.ended_by_handler() if is_guard else faults.before_commit(error)
    return faults.at_commit(error)
