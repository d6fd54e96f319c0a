"""How receipts decide, on every driver: who was first is settled by inserting, never by looking first."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from landfast.domain.effect import StagedEffect
from landfast.domain.errors import CommitRefusedError, CommitUnknownError, LedgerUnavailableError
from landfast.domain.ids import ReceiptDigest
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey

SUPERSEDED = b'{"reason":"superseded","message":"a later run took its place"}'


class Receipts(Protocol):
    """The receipts as one open transaction sees them."""

    async def insert(self, receipts: Sequence[Receipt]) -> Collection[ReceiptKey]:
        """Those that were not there. One that another transaction holds is waited for."""
        ...

    async def read(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]: ...

    async def renew(self, digests: Sequence[ReceiptDigest]) -> None:
        """Let every receipt of these that is older than a day be as old as now."""
        ...


async def reserve(
    receipts: Receipts, keys: Sequence[ReceiptKey], forced: frozenset[ReceiptKey]
) -> list[Receipt | None]:
    """None where the key is ours now, otherwise the receipt that keeps us from it. That one is as young as our finding
    it: its event may be an old one that was forgotten and came again, and lives longer than a receipt of before."""
    earlier = await _done_before(receipts, [key for key in keys if key.run > 1 and key not in forced])
    wanted = [Receipt(key, Outcome.DONE) for key in keys if key not in earlier]
    ours = await receipts.insert(_in_order(wanted))
    taken = [receipt.key for receipt in wanted if receipt.key not in ours]
    if found := {receipt.key.digest for receipt in earlier.values()} | {key.digest for key in taken}:
        await receipts.renew(sorted(found))
    there = await _read(receipts, taken)
    if gone := [receipt for receipt in wanted if receipt.key not in ours and receipt.key not in there]:
        # Its time was over, and it was deleted between our two statements: now it is like one that never was.
        ours = {*ours, *await receipts.insert(_in_order(gone))}
    return [None if key in ours else earlier.get(key) or there[key] for key in keys]


async def bury(receipts: Receipts, tombstones: Sequence[Receipt], forced: frozenset[ReceiptKey]) -> list[Receipt]:
    """What is there now: the tombstone, or whatever came before it, in an earlier run too."""
    keys = [tombstone.key for tombstone in tombstones]
    earlier = await _done_before(receipts, [key for key in keys if key.run > 1 and key not in forced])
    wanted = [tombstone for tombstone in tombstones if tombstone.key not in earlier]
    ours = await receipts.insert(_in_order(wanted))
    there = await _read(receipts, [tombstone.key for tombstone in wanted if tombstone.key not in ours])
    return [earlier.get(tombstone.key) or there.get(tombstone.key, tombstone) for tombstone in tombstones]


class BuryingTransaction(Protocol):
    """A LedgerTransaction of Landfast's own, without a handler."""

    async def bury(self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey]) -> Sequence[Receipt]: ...

    async def commit(self, *, results: Sequence[tuple[ReceiptKey, bytes]], effects: Sequence[StagedEffect]) -> None: ...

    async def rollback(self) -> None: ...


async def bury_alone(
    transaction: BuryingTransaction, tombstones: Sequence[Receipt], forced: frozenset[ReceiptKey]
) -> Sequence[Receipt]:
    """All of a transaction that has begun and does nothing else."""
    try:
        there = await transaction.bury(tombstones, forced=forced)
        await transaction.commit(results=(), effects=())
    except (CommitRefusedError, CommitUnknownError) as error:
        raise not_buried(error) from error
    finally:
        await transaction.rollback()
    return there


def not_buried(error: CommitRefusedError | CommitUnknownError) -> BaseException:
    """What a COMMIT of tombstones means that did not answer yes. A cancellation inside of it is the caller's own, and
    stays one: a loop that took it for an outage would never end."""
    if isinstance(error.__cause__, asyncio.CancelledError):
        return error.__cause__
    return LedgerUnavailableError("ledger: the tombstones may not be there; bury them again")


async def _done_before(receipts: Receipts, keys: Sequence[ReceiptKey]) -> dict[ReceiptKey, Receipt]:
    """The latest `done` receipt of an earlier run, for each key that has one.

    To find one is proof, to find none is not: a zombie of the earlier run may hold its receipt and commit after we
    looked, and the handler's writes would be there twice without anybody's force. So the earlier runs are closed with
    tombstones, in this transaction: the zombie is waited for, or finds the tombstone.
    """
    done = _latest_done(keys, await _read(receipts, keys))
    seals = [
        Receipt(ReceiptKey(key.digest, key.handler, run), Outcome.DEAD, SUPERSEDED)
        for key in keys
        if key not in done
        for run in range(1, key.run)
    ]
    if seals:
        sealed = await receipts.insert(_in_order(seals))
        there = await _read(receipts, [seal.key for seal in seals if seal.key not in sealed])
        done |= _latest_done(keys, there)
    return done


def _latest_done(keys: Sequence[ReceiptKey], there: dict[ReceiptKey, Receipt]) -> dict[ReceiptKey, Receipt]:
    done = sorted((each for each in there.values() if each.outcome is Outcome.DONE), key=lambda each: each.key.run)
    return {
        key: receipt
        for key in keys
        for receipt in done
        if (receipt.key.digest, receipt.key.handler) == (key.digest, key.handler) and receipt.key.run < key.run
    }


async def _read(receipts: Receipts, keys: Sequence[ReceiptKey]) -> dict[ReceiptKey, Receipt]:
    if not keys:
        return {}
    found = await receipts.read(sorted({key.digest for key in keys}))
    return {receipt.key: receipt for receipt in found}


def _in_order(receipts: Iterable[Receipt]) -> list[Receipt]:
    # Two transactions that want the same receipts in opposite orders would wait for each other.
    return sorted(receipts, key=lambda receipt: (receipt.key.digest, receipt.key.handler, receipt.key.run))
