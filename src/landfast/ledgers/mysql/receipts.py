"""Receipts in an open transaction on MySQL, whoever's connection it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from landfast.domain.effect import StagedEffect
from landfast.domain.ids import ReceiptDigest
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.ledgers import boxes
from landfast.ledgers import rows as shared
from landfast.ledgers.mysql import faults, rows
from landfast.ledgers.mysql.statements import Statements, change_all
from landfast.sealing import Seal, StoreKey


class MysqlReceipts:
    """What `reserving` decides with."""

    def __init__(self, statements: Statements, seal: Seal) -> None:
        self._statements = statements
        self._seal = seal

    async def insert(self, receipts: Sequence[Receipt]) -> Collection[ReceiptKey]:
        if not receipts:
            return set()
        sealed = boxes.seal_receipts(self._seal, receipts)
        if sealed is not receipts:
            await add_store_key(self._statements, self._seal)
        try:
            await self._statements.execute(*rows.for_each("receipts_insert", [rows.receipt(each) for each in sealed]))
        except faults.ANY as error:
            if not faults.is_duplicate(error):
                raise
        else:
            return {each.key for each in receipts}
        # MySQL does not tell which of them is there already, and has undone the statement: ask one by one.
        return {each.key for each in sealed if await self._is_new(each)}

    async def read(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]:
        return await read(self._statements, "receipts_read_now", digests, self._seal)

    async def renew(self, digests: Sequence[ReceiptDigest]) -> None:
        named = [{"digest": digest} for digest in digests]
        await self._statements.execute(*rows.for_each("receipts_renew", named))

    async def _is_new(self, receipt: Receipt) -> bool:
        try:
            await self._statements.execute(*rows.for_each("receipts_insert", [rows.receipt(receipt)]))
        except faults.ANY as error:
            if faults.is_duplicate(error):
                return False
            raise
        return True


async def read(statements: Statements, name: str, digests: Sequence[ReceiptDigest], seal: Seal) -> Sequence[Receipt]:
    if not digests:
        return []
    found = await statements.fetch(*rows.for_each(name, [{"digest": digest} for digest in digests]))
    receipts = [shared.receipt(row) for row in found]
    if seal.lacks(boxes.keys_of(receipts)):
        seal.learn(await store_keys(statements))
    return [boxes.open_receipt(seal, each) for each in receipts]


async def store_keys(statements: Statements) -> Sequence[StoreKey]:
    found = await statements.fetch(rows.SQL["store_keys"])
    return [StoreKey(row["id"], row["wrapped"], row["master"]) for row in found]


async def add_store_key(statements: Statements, seal: Seal) -> None:
    """In the transaction that stores what is sealed: a ledger that was restored from a copy may have lost it."""
    if seal.store_key is not None:
        await statements.execute(rows.SQL["store_key_add"], seal.store_key._asdict())


async def store_all(
    statements: Statements,
    seal: Seal,
    results: Sequence[tuple[ReceiptKey, bytes]],
    effects: Sequence[StagedEffect],
) -> None:
    """What handlers returned and staged."""
    if results or effects:
        await add_store_key(statements, seal)
    given = [rows.result(key, value) for key, value in boxes.seal_results(seal, results)]
    await change_all(statements, "receipts_result", given)
    if effects:
        staged = [rows.staged(each) for each in boxes.seal_effects(seal, effects)]
        await statements.execute(*rows.for_each("effects_stage", staged))
        if waits := rows.waits(effects):
            await statements.execute(*rows.for_each("waits_stage", waits))
