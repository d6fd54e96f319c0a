"""What a driver's test module provides, and how the suite works with a ledger."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from landfast.domain import ids
from landfast.domain.effect import StagedEffect
from landfast.domain.ids import HandlerName, InboxId
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.ports.ledger import Ledger, LedgerTransaction, Scope

DEADLINE = 120.0
"""Seconds: of what is not about deadlines, on a machine that others use too."""

HANDLER = HandlerName("create_order")


class Desk(Protocol):
    @property
    def ledger(self) -> Ledger:
        """Open, migrated and empty, beside the tables of `BUSINESS`."""
        ...

    async def another(self) -> Ledger:
        """A second instance, open on the same data; the desk closes it."""
        ...

    async def advance(self, seconds: float) -> None:
        """Move the time that the store goes by."""
        ...

    async def look(self, query: str) -> list[tuple[Any, ...]]:
        """What an outsider sees, on a connection of their own: only what is committed."""
        ...

    async def change(self, statement: str) -> None:
        """What an outsider does to the database, committed at once."""
        ...

    def table(self, noun: str) -> str:
        """What the driver calls its table of receipts (`receipt`), effects (`effect`), what effects wait for
        (`effect_wait`), guard rows (`guard`), inboxes (`inbox`) or migrations (`migration`)."""
        ...

    async def raw(self, connection: Any, statement: str) -> None:
        """Send a statement over the driver's own connection, as a handler may that knows its driver."""
        ...


BUSINESS = (
    "CREATE TABLE shop_order (payment TEXT PRIMARY KEY)",
    "CREATE TABLE shop_line (payment TEXT REFERENCES shop_order DEFERRABLE INITIALLY DEFERRED)",
)
"""The user's own tables."""


def key(name: str = "evt_1", *, handler: str = HANDLER, run: int = 1) -> ReceiptKey:
    return ReceiptKey(ids.receipt_digest(InboxId(b"i" * 16), "shop", name), HandlerName(handler), run)


def tombstone(of: ReceiptKey, reason: bytes = b"gave_up") -> Receipt:
    return Receipt(of, Outcome.DEAD, reason)


def effect(name: str = "send_mail", *, of: ReceiptKey | None = None, **more: Any) -> StagedEffect:
    of = of or key()
    identity = ids.effect_key(of.digest, of.handler, name)
    given: dict[str, Any] = {"arguments": b'{"order":1}', "context": b'{"source":"shop"}'} | more
    return StagedEffect(identity, of.run, of.digest, of.handler, name, **given)


@asynccontextmanager
async def transaction(ledger: Ledger, *, isolation: str | None = None) -> AsyncIterator[Begun]:
    """Begun, and rolled back unless it was committed."""
    begun = await ledger.begin(deadline=DEADLINE, isolation=isolation)
    try:
        yield Begun(begun, await begun.scope())
    finally:
        await begun.rollback()


class Begun:
    """A transaction and what its first handler would be given."""

    def __init__(self, tx: LedgerTransaction, scope: Scope) -> None:
        self.tx, self.given = tx, scope
        self.handle = scope.handle
        self.reserve, self.scope, self.withdraw = tx.reserve, tx.scope, tx.withdraw
        self.check, self.commit, self.rollback = tx.check, tx.commit, tx.rollback


async def reserve(ledger: Ledger, *keys: ReceiptKey, forced: bool = False) -> Sequence[Receipt | None]:
    """Receive and commit."""
    async with transaction(ledger) as tx:
        answer = await tx.reserve(keys, forced=frozenset(keys) if forced else frozenset())
        await tx.commit(results=(), effects=())
    return answer


async def process(ledger: Ledger, of: ReceiptKey, payment: str, *, forced: bool = False) -> Receipt | None:
    """The whole path of one event whose handler writes one order."""
    async with transaction(ledger) as tx:
        (taken,) = await tx.reserve([of], forced=frozenset({of}) if forced else frozenset())
        if taken is None:
            await order(tx, payment)
            await tx.commit(results=(), effects=())
        return taken


async def bury(ledger: Ledger, of: ReceiptKey) -> Sequence[Receipt]:
    return await ledger.bury([tombstone(of)])


async def order(tx: Begun, payment: str) -> None:
    await tx.handle.execute("INSERT INTO shop_order (payment) VALUES ($1)", payment)


async def stage(ledger: Ledger, *effects: StagedEffect) -> None:
    async with transaction(ledger) as tx:
        await tx.reserve([ReceiptKey(each.digest, each.handler, each.run) for each in effects])
        await tx.commit(results=(), effects=effects)


async def orders(desk: Desk) -> list[str]:
    return [payment for (payment,) in await desk.look("SELECT payment FROM shop_order ORDER BY payment")]


async def receipt_count(desk: Desk) -> int:
    ((count,),) = await desk.look(f"SELECT count(*) FROM {desk.table('receipt')}")  # noqa: S608 - the driver's own name
    return int(count)


async def outcomes(ledger: Ledger, of: ReceiptKey) -> dict[int, Outcome]:
    """By run."""
    return {each.key.run: each.outcome for each in await ledger.receipts([of.digest]) if each.key.handler == of.handler}
