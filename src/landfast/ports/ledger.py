"""The ledger: what was done. Receipts and staged effects, beside the user's own tables.

`LedgerTransaction` is the whole of what exactly-once needs from a transaction: insert receipts, hand out the user's
handle, stage effects, and a checked COMMIT. A transaction that somebody else opened (SQLAlchemy, Django) fits it: the
statements are the same, run on their connection, and `commit` and `rollback` call theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from landfast.domain.effect import ClaimedEffect, EffectSettlement, EffectState, StagedEffect
from landfast.domain.fault import Fault
from landfast.domain.ids import InboxId, ReceiptDigest, Token, WorkerId
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.ports.audit import Audited
from landfast.ports.erasure import ErasableLedger
from landfast.ports.sealed import KeyStore
from landfast.ports.store import Store


class Transaction(Protocol):
    """What an `async def` handler writes on; a `def` handler gets the same without `await`. asyncpg's shape on every
    driver, `$1` placeholders on SQLite too. It cannot be committed or rolled back."""

    @property
    def connection(self) -> Any:
        """The driver's own connection (asyncpg's, or sqlite3's). A COMMIT or ROLLBACK sent on it fails the attempt."""
        ...

    async def execute(self, query: str, *args: Any) -> str: ...

    async def fetch(self, query: str, *args: Any) -> Sequence[Any]: ...

    async def fetchrow(self, query: str, *args: Any) -> Any: ...

    async def fetchval(self, query: str, *args: Any) -> Any: ...

    def savepoint(self) -> Any:
        """`async with tx.savepoint():` around statements whose database errors the handler wants to catch."""
        ...


class LedgerTransaction(Protocol):
    @property
    def handle(self) -> Transaction: ...

    async def reserve(
        self, keys: Sequence[ReceiptKey], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt | None]:
        """Insert a `done` receipt for each key, in sorted order, and answer in the order given: None where it is ours
        now; otherwise the receipt that is there and committed (any outcome for that very key; or, for a key of run 2
        and up that is not forced, a `done` one of an earlier run; where there is none, earlier runs are closed with
        tombstones, so that a zombie of theirs cannot commit any more). A concurrent transaction that holds one is
        waited for, one second at most: ReceiptBusyError. Under SERIALIZABLE or REPEATABLE READ the loser gets a
        CONFLICT fault. LedgerUnavailableError for an outage, or where Landfast's own tables are not as they should
        be."""
        ...

    async def reset(self) -> None:
        """Undo session settings that a handler made with SET LOCAL, between two events of a group."""
        ...

    async def withdraw(self, keys: Sequence[ReceiptKey]) -> None:
        """Take back receipts of ours whose handlers were not reached."""
        ...

    async def check(self) -> None:
        """Raise SwallowedDatabaseError if the transaction is already lost, HandlerEndedTransactionError if the handler
        ended it. Changes nothing."""
        ...

    async def commit(self, *, results: Sequence[tuple[ReceiptKey, bytes]], effects: Sequence[StagedEffect]) -> None:
        """Store the results and effects, prove that the transaction is still the one we began (guard row), and COMMIT.
        Returns only if the server said that it committed. CommitUnknownError if no answer came; CommitRefusedError if
        the answer was an error, such as a deferred constraint; SwallowedDatabaseError and
        HandlerEndedTransactionError as `check`. An effect row is identified by (key, run); staging one that is there
        already changes nothing."""
        ...

    async def rollback(self) -> None:
        """Give everything back. Safe after any error, and twice."""
        ...


class ReceiptStore(Protocol):
    async def begin(self, *, deadline: float, isolation: str | None = None) -> LedgerTransaction:
        """A transaction with durable COMMIT. If we stop without a word for `deadline` + 5 seconds, the server ends it.
        LedgerUnavailableError for an outage; ReceiptBusyError where the database has one writer, and it is another."""
        ...

    async def bury(
        self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt]:
        """Commit a tombstone for each key unless a receipt is there; what is there now, in the order given. For a key
        of run 2 and up that is not forced, a `done` receipt of an earlier run is there, too; where there is none,
        earlier runs are closed with tombstones, as by `reserve`. A conflict with an uncommitted receipt is waited
        for, one second at most: ReceiptBusyError."""
        ...

    async def receipts(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]:
        """Every receipt of these events."""
        ...

    async def bind(self, inbox: InboxId) -> str:
        """Note that this inbox writes its receipts here; the ledger's own name (drawn once, when it was created)."""
        ...

    def diagnose(self, error: BaseException) -> Fault:
        """Whose fault an error raised inside a handler is."""
        ...


class EffectStore(Protocol):
    async def claim(self, *, token: Token, lease: float, limit: int) -> Sequence[ClaimedEffect]:
        """Lease up to `limit` effects that are ready, or delayed and due, oldest first. Never a suspect or an expired
        one."""
        ...

    async def claim_suspect(self, *, token: Token, lease: float) -> ClaimedEffect | None:
        """Lease the oldest effect whose lease has expired, or that was ever so and is due again: it is a suspect from
        now on and must run alone. If it was a suspect already when its lease expired, its crashes grow by one."""
        ...

    async def has_suspects(self) -> bool:
        """Whether `claim_suspect` would find one."""
        ...

    async def settle(self, settlements: Sequence[EffectSettlement]) -> Sequence[bool]:
        """Apply the signal of each `WHERE key AND run AND token`; True where it took effect. A RELEASE leaves the tries
        and the last error as they are; every other one sets them."""
        ...

    async def renew(self, *, tokens: Sequence[Token], lease: float) -> None:
        """Extend the leases under these tokens that have not expired yet, and no others."""
        ...

    async def abandon(self, *, worker: WorkerId) -> int:
        """Let every lease of a dead worker expire now; how many."""
        ...

    async def counts(self) -> dict[EffectState, int]:
        """Of every state, also of those that no effect is in."""
        ...

    async def list(
        self, *, digest: ReceiptDigest | None = None, state: EffectState | None = None, limit: int
    ) -> Sequence[dict[str, Any]]:
        """Newest first: key, run, handler, name, arguments, context, state, attempts, error, message, trace and
        created_at."""
        ...

    async def revive(self, keys: Sequence[tuple[str, int]]) -> int:
        """Make dead effects ready again, with fresh tries; how many. One that was erased stays dead."""
        ...


class Ledger(ReceiptStore, EffectStore, Audited, KeyStore, ErasableLedger, Store, Protocol):
    """One ledger, as a driver's object has to be: all of the above, what the proof, sealing and erasing ask of it, and
    how it comes up and goes. `landfast.testing.conformance.ledger` has a test for each sentence."""
