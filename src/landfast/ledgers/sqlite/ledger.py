"""The ledger in a SQLite file of the user's."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from landfast.domain import isolation as levels
from landfast.domain.audit import Mark
from landfast.domain.effect import EffectState
from landfast.domain.erasure import Erased
from landfast.domain.errors import (
    ConfigError,
    LedgerUnavailableError,
    ReceiptBusyError,
)
from landfast.domain.fault import Fault
from landfast.domain.ids import InboxId, ReceiptDigest
from landfast.domain.lane_memory import StateKey
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.domain.text import storable
from landfast.ledgers import limits, reserving
from landfast.ledgers.sqlite import faults, lane_memory, rows, store
from landfast.ledgers.sqlite.effects import SqliteEffects
from landfast.ledgers.sqlite.expiry import SqliteExpiry
from landfast.ledgers.sqlite.thread import MOVED, ConnectionThread
from landfast.ledgers.sqlite.transaction import SqliteTransaction
from landfast.ports.audit import MARKS_KEPT
from landfast.ports.clock import Chance, Clock
from landfast.sealing import Seal, StoreKey


class SqliteLedger(SqliteEffects, SqliteExpiry):
    """A Ledger, an EffectStore and a Store.

    SQLite has one writer. Within this process the writers queue for a lock, because two of them waiting inside of
    SQLite would freeze each other; against another process BEGIN IMMEDIATE waits a second. Reads have a connection
    of their own and wait for nobody.
    """

    def __init__(self, path: str | Path, *, clock: Clock, chance: Chance, seal: Seal | None = None) -> None:
        self._path = Path(path)
        self._chance = chance
        writer = ConnectionThread(self._path, "landfast-ledger-writer")
        reader = ConnectionThread(self._path, "landfast-ledger-reader")
        super().__init__(writer, reader, clock=clock, seal=seal or Seal())

    async def begin(self, *, deadline: float, isolation: str | None = None) -> SqliteTransaction:  # noqa: ARG002 - there is no server that could end a transaction for us
        levels.level(isolation)  # whatever it asks for, SQLite serialises
        await self._lock.acquire()
        return await self._begin()

    async def bury(
        self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt]:
        try:
            async with asyncio.timeout(limits.RECEIPT_WAIT):
                await self._lock.acquire()
        except TimeoutError:
            raise ReceiptBusyError("ledger: a handler's transaction is open for longer than a second") from None
        return await reserving.bury_alone(await self._begin(), tombstones, forced)

    async def receipts(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]:
        try:
            return await self._reader.run(lambda connection: rows.read_receipts(connection, digests, self._seal))
        except sqlite3.Error as error:
            raise faults.unavailable(error) from error

    async def states(self, keys: Sequence[StateKey]) -> Sequence[str | None]:
        try:
            return await self._reader.run(lambda connection: lane_memory.read_states(connection, keys))
        except sqlite3.Error as error:
            raise faults.unavailable(error) from error

    async def audit_marks(self, inbox: InboxId) -> Sequence[Mark]:
        found = await self._read("audit_marks", {"inbox": inbox, "kept": MARKS_KEPT})
        return [Mark(row["seq"], row["nonce"]) for row in found]

    async def set_audit_mark(self, inbox: InboxId, mark: Mark) -> None:
        values = {"inbox": inbox, **mark._asdict(), "kept": MARKS_KEPT}

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(rows.SQL["audit_mark_set"], values)
            connection.execute(rows.SQL["audit_mark_forget"], values)

        await self._write(work)

    async def bind(self, inbox: InboxId) -> str:
        # A look first: it waits for nobody, and whoever writes may be a handler that takes long.
        for row in await self._read("bound", {"inbox": inbox}):
            return str(row["name"])
        now = self._now()

        def work(connection: sqlite3.Connection) -> str:
            connection.execute(rows.SQL["bind"], {"inbox": inbox, "now": now})
            (name,) = connection.execute(rows.SQL["name"]).fetchone()
            return str(name)

        return await self._write(work)

    async def store_keys(self) -> Sequence[StoreKey]:
        return [StoreKey(*row) for row in await self._read("store_keys", {})]

    async def rewrap(self, keys: Sequence[StoreKey]) -> None:
        changed = [key._asdict() for key in keys]
        await self._write(lambda connection: connection.executemany(rows.SQL["store_key_rewrap"], changed))

    async def erase(self, inbox: InboxId, events: Sequence[Erased], *, who: str) -> None:
        now = self._now()
        states = {"done": EffectState.DONE, "dead": EffectState.DEAD, "tombstone": Outcome.DEAD}
        shared = {"inbox": inbox, "now": now, "who": storable(who), **states}
        named = [each._asdict() | shared for each in events]

        def work(connection: sqlite3.Connection) -> None:
            for each in named:
                for statement in ("erase_effects", "erase_results", "erase_note"):
                    connection.execute(rows.SQL[statement], each)

        await self._write(work)

    async def erased(self, inbox: InboxId) -> Sequence[Erased]:
        return [Erased(*row) for row in await self._read("erased", {"inbox": inbox})]

    async def scrub(self) -> bool:
        # The log still has the pages as they were. Somebody who reads an old view keeps it there.
        async with self._lock:
            try:
                found = await self._writer.run(
                    lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                )
            except sqlite3.Error as error:
                raise faults.unavailable(error) from error
        return not found[0]

    def diagnose(self, error: BaseException) -> Fault:
        return faults.diagnose(error)

    async def open(self) -> None:
        try:
            for thread in (self._writer, self._reader):
                await thread.open()
        except sqlite3.Error as error:
            await self.close()
            raise self._unopened(error) from error

    async def close(self) -> None:
        for thread in (self._writer, self._reader):
            await thread.close()

    async def migrate(self) -> Sequence[str]:
        name = self._chance.bytes(8).hex()
        async with self._lock:
            try:
                return await self._writer.run(lambda connection: store.migrate(connection, name))
            except sqlite3.Error as error:
                raise faults.unavailable(error) from error

    async def problems(self) -> Sequence[str]:
        hazards, others = await self._examine()
        return [*hazards, *others]

    async def cautions(self) -> Sequence[str]:
        return []

    async def hazards(self) -> Sequence[str]:
        hazards, _ = await self._examine()
        return hazards

    async def _begin(self) -> SqliteTransaction:
        """By the holder of the lock, which the transaction gives back."""
        transaction = SqliteTransaction(self._writer, self._lock, self._clock, self._seal)
        try:
            await transaction.begin()
        except BaseException:
            await transaction.rollback()
            raise
        return transaction

    async def _examine(self) -> tuple[list[str], list[str]]:
        try:
            hazards, others = await self._reader.run(store.examine)
            hazards += await self._writer.run(store.unsafe_settings)  # whose COMMITs it is about
        except sqlite3.Error as error:
            raise faults.unavailable(error) from error
        return hazards if self._writer.is_in_place() else [*hazards, f"ledger: {MOVED}"], others

    def _unopened(self, error: sqlite3.Error) -> ConfigError | LedgerUnavailableError:
        if faults.code(error) == sqlite3.SQLITE_NOTADB:
            return ConfigError(
                f"ledger: {self._path} is not a SQLite database; point ledger (LANDFAST_LEDGER) to another file"
            )
        if faults.code(error) in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
            return ConfigError(
                f"ledger: {self._path} cannot be opened for writing ({error}); "
                "create its folder, or point ledger (LANDFAST_LEDGER) to a file that can be written"
            )
        return faults.unavailable(error)
