"""The ledger: what was done. Receipts and staged effects, beside the user's own tables.

`LedgerTransaction` is the whole of what exactly-once needs from a transaction: insert receipts, give each handler what
it writes on, stage effects, and a checked COMMIT. A transaction on a connection of the user's own stack (SQLAlchemy,
Django, psycopg) fits it: the statements are the same, run on their connection.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from landfast.domain.arrival import Arrived
from landfast.domain.effect import ClaimedEffect, EffectSettlement, EffectState, StagedEffect
from landfast.domain.fault import Fault
from landfast.domain.ids import InboxId, ReceiptDigest, Token, WorkerId
from landfast.domain.lane import LanePlace
from landfast.domain.lane_memory import LaneMark, LaneState, StateKey
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.ports.audit import Audited
from landfast.ports.erasure import ErasableLedger
from landfast.ports.expiry import ExpiringLedger
from landfast.ports.sealed import KeyStore
from landfast.ports.store import Store
from landfast.thread_calls import Call

Batch = tuple[str, Sequence[Sequence[Any]]]
"""A statement, and the arguments of each time that it is to run: at least one."""


class Transaction(Protocol):
    """What an `async def` handler writes on; a `def` handler gets the same without `await`. asyncpg's shape on every
    driver, `$1` placeholders on SQLite too. It cannot be committed or rolled back."""

    @property
    def dialect(self) -> str:
        """Of SQL: `postgresql`, `sqlite` or `mysql`."""
        ...

    @property
    def connection(self) -> Any:
        """The driver's own connection (asyncpg's, or sqlite3's). A COMMIT or ROLLBACK sent on it fails the attempt."""
        ...

    async def execute(self, query: str, *args: Any) -> str: ...

    async def fetch(self, query: str, *args: Any) -> Sequence[Any]: ...

    async def fetchrow(self, query: str, *args: Any) -> Any: ...

    async def fetchval(self, query: str, *args: Any) -> Any: ...

    async def send_all(self, batches: Sequence[Batch]) -> None:
        """Run these statements in this order, each for every one of its rows of arguments, in as few round trips as the
        driver can. Nobody wants their answers. Where one fails, those before it may have run and those after it have
        not."""
        ...

    def savepoint(self) -> Any:
        """`async with tx.savepoint():` around statements whose database errors the handler wants to catch."""
        ...


class Scope(Protocol):
    """What the handler of one event is given."""

    @property
    def handle(self) -> Transaction: ...

    def given(self, kind: str) -> Any:
        """What else the stack has, by the kinds of its driver's `offers`: `session` or `connection`. UserError for one
        that it has not."""
        ...

    @property
    def used(self) -> bool:
        """Whether the handler may have written anything here: it sent a statement, or got hold of the connection.
        Landfast's own statements do not count."""
        ...

    def before_others(self, sending: Callable[[], Coroutine[Any, Any, None] | None]) -> bool:
        """From now on, and while this scope lasts, run what `sending` returns before each statement that the handler
        sends past `handle`, by its session say. False where nobody sees those statements."""
        ...

    @property
    def closes_at_once(self) -> bool:
        """Whether `close` has nothing to send, and so needs no deadline."""
        ...

    async def close(self) -> None:
        """Send what the handler left unsent, and refuse what it left open. What this raises is the handler's own error.
        Called once the handler has returned; never after one that failed, because all of it is rolled back then."""
        ...


class Lane(Protocol):
    """The thread that has a transaction from BEGIN to COMMIT. Statements in it block, and never suspend a coroutine."""

    def start(self, function: Callable[[], Any], *, is_async: bool) -> Call:
        """The handler of one event, by itself. A trip to the thread and back takes about as long as a statement."""
        ...

    def drive(self, work: Callable[[DrivenTransaction], Coroutine[Any, Any, Any]]) -> Call:
        """All of a transaction in one trip, handlers too, until it is committed or rolled back. What `work` is given
        belongs to the thread, and to `work` alone."""
        ...

    async def leave(self) -> None:
        """After `drive`, once that has ended: what comes after a COMMIT, and the thread is free for others."""
        ...


class LedgerTransaction(Protocol):
    @property
    def lane(self) -> Lane | None:
        """Where handlers must run. None where the transaction lives on the loop: an `async def` runs there, too, and a
        `def` in any thread."""
        ...

    async def scope(self) -> Scope:
        """For the next event. Session settings that the handler before it made with SET LOCAL are undone."""
        ...

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

    async def mark(self, marks: Sequence[LaneMark]) -> Sequence[LanePlace | None]:
        """Lock the marks in sorted order, right after `reserve`, and move each to the place given, never down; where
        each was before this transaction, in the order given: None where there was no mark. Another transaction that
        holds one is waited for, one second at most: ReceiptBusyError; under SERIALIZABLE or REPEATABLE READ, a
        CONFLICT fault. A rollback leaves every mark where it was."""
        ...

    async def lock_states(self, keys: Sequence[StateKey]) -> Sequence[str | None]:
        """Lock the states of these entities in sorted order, after `mark` and before any handler; what they are, in
        the order given: None where there is none yet. Waits as `mark` does."""
        ...

    async def move_states(self, states: Sequence[LaneState]) -> None:
        """Set states that `lock_states` has locked. Seen by others together with the receipts."""
        ...

    async def withdraw(self, keys: Sequence[ReceiptKey], *, reached: Sequence[LaneMark] = ()) -> None:
        """Take back receipts of ours whose handlers were not reached. Every mark of ours goes back to where it was, or
        to the highest of the places that were reached, if that is beyond it."""
        ...

    async def holds(self, effect: ClaimedEffect) -> bool:
        """Whether the effect is still leased under its token. If it is, nobody erases it until this transaction has
        ended; and whoever erases it after that finds what this transaction has written."""
        ...

    async def check(self) -> None:
        """Raise SwallowedDatabaseError if the transaction is already lost, HandlerEndedTransactionError if the handler
        ended it. Changes nothing."""
        ...

    async def commit(
        self,
        *,
        results: Sequence[tuple[ReceiptKey, bytes]],
        effects: Sequence[StagedEffect],
        arrivals: Sequence[Arrived] = (),
    ) -> None:
        """Store the results and effects, prove that the transaction is still the one we began (guard row), and COMMIT.
        Returns only if the server said that it committed. CommitUnknownError if no answer came; CommitRefusedError if
        the answer was an error, such as a deferred constraint; SwallowedDatabaseError and
        HandlerEndedTransactionError as `check`. An effect row is identified by (key, run); staging one that is there
        already changes nothing. One that is staged after others is `waiting` until all of them are done; one that is
        staged for a time is not due before it. What it is staged after is staged by the same commit.

        `arrivals` are events that others may wait for. An effect that stands for one (`step.arrival`) is done by the
        commit that says that it has come, unless it is over already, and whoever holds its lease has lost it; those
        staged after it are freed by that commit. It is done at once if one came up to `back` seconds ago. Both take
        turns at the arrival, one second at most: ReceiptBusyError; under SERIALIZABLE or REPEATABLE READ, a CONFLICT
        fault."""
        ...

    async def rollback(self) -> None:
        """Give everything back. Safe after any error, and twice. It never waits for a handler that still runs in the
        lane: it hangs up, and the lane cleans up when its function returns."""
        ...


class DrivenTransaction(LedgerTransaction, Protocol):
    """A transaction as its own thread has it: its coroutines block, and never suspend."""

    def call(self, function: Callable[[], Any], *, is_async: bool) -> Any:
        """The handler that the last scope was made for, here and now."""
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

    async def states(self, keys: Sequence[StateKey]) -> Sequence[str | None]:
        """What is committed, in the order given: None where there is none."""
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
        one, and never one that waits. With each come the results of those whose results it takes."""
        ...

    async def claim_suspect(self, *, token: Token, lease: float) -> ClaimedEffect | None:
        """Lease the oldest effect whose lease has expired, or that was ever so and is due again: it is a suspect from
        now on and must run alone. If it was a suspect already when its lease expired, its crashes grow by one."""
        ...

    async def has_suspects(self) -> bool:
        """Whether `claim_suspect` would find one."""
        ...

    async def holds(self, effect: ClaimedEffect) -> bool:
        """Whether it is still leased under its token: since its claim it may have been erased, or claimed again."""
        ...

    async def arrived(self, effect: ClaimedEffect) -> str | None:
        """The id of the event that it stands for, if one came since `back` seconds before it was staged."""
        ...

    async def settle(self, settlements: Sequence[EffectSettlement]) -> Sequence[bool]:
        """Apply the signal of each `WHERE key AND run AND token`; True where it took effect. A RELEASE leaves the tries
        and the last error as they are; every other one sets them. A FINISH keeps the result. In the same transaction
        the FINISH of a step frees those that were waiting for it and for nothing else any more: they are ready, or due
        at their time."""
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
        """Newest first: key, run, handler, name, arguments, context, state, attempts, error, message, trace,
        created_at, step, result (JSON, or None), and at (where it was staged for a time)."""
        ...

    async def revive(self, keys: Sequence[tuple[str, int]]) -> int:
        """Make dead effects ready again, with fresh tries; how many. One that was erased stays dead."""
        ...

    async def skip(self, key: str, run: int, *, result: bytes | None = None) -> bool:
        """End a dead effect as done without performing it, and free those that were waiting for it, as its FINISH would
        have; they are given this result, which is JSON. False: it is not dead, or was erased."""
        ...


class Ledger(ReceiptStore, EffectStore, Audited, KeyStore, ErasableLedger, ExpiringLedger, Store, Protocol):
    """One ledger, as a driver's object has to be: all of the above, what the proof, sealing, erasing and retention ask
    of it, and how it comes up and goes. `landfast.testing.conformance.ledger` has a test for each sentence."""
