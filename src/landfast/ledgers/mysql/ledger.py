"""The ledger in a MySQL or MariaDB database of the user's: everything but the handlers' transactions, which are on
connections of the user's own (`ledgers/sqlalchemy/mysql_transaction.py`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from landfast.domain.audit import Mark
from landfast.domain.effect import EffectState
from landfast.domain.erasure import Erased
from landfast.domain.fault import Fault
from landfast.domain.ids import InboxId, ReceiptDigest
from landfast.domain.lane_memory import StateKey
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.domain.text import storable
from landfast.ledgers import reserving
from landfast.ledgers.mysql import faults, lane_memory, receipts, rows, store
from landfast.ledgers.mysql.desk import Desk
from landfast.ledgers.mysql.effects import MysqlEffects
from landfast.ledgers.mysql.expiry import MysqlExpiry
from landfast.ledgers.mysql.receipts import MysqlReceipts
from landfast.ledgers.mysql.statements import Statements, change_all
from landfast.ports.audit import MARKS_KEPT
from landfast.ports.clock import Chance
from landfast.ports.ledger import LedgerTransaction
from landfast.sealing import Seal, StoreKey


class MysqlLedger(MysqlEffects, MysqlExpiry, ABC):
    """All of a Ledger but `begin`."""

    def __init__(self, options: Mapping[str, Any], *, chance: Chance, seal: Seal | None, named: str) -> None:
        """`options` are those of `pymysql.connect`. `named` is the setting to correct when the address is wrong."""
        self._desk = Desk(options)
        self._chance = chance
        self._seal = seal or Seal()
        self._named = named

    @abstractmethod
    async def begin(self, *, deadline: float, isolation: str | None = None) -> LedgerTransaction:
        """On a connection of the user's stack: `ledgers/sqlalchemy/mysql_ledger.py`."""

    async def bury(
        self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt]:
        def work(statements: Statements) -> Any:
            return reserving.bury(MysqlReceipts(statements, self._seal), tombstones, forced)

        try:
            there: Sequence[Receipt] = await self._desk.run(work, waits_once=True)
        except faults.ANY as error:
            raise faults.own(error) from error
        return there

    async def receipts(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]:
        return await self._run(lambda statements: receipts.read(statements, "receipts_read", digests, self._seal))

    async def states(self, keys: Sequence[StateKey]) -> Sequence[str | None]:
        return await self._run(lambda statements: lane_memory.read_states(statements, keys))

    async def audit_marks(self, inbox: InboxId) -> Sequence[Mark]:
        found = await self._fetch("audit_marks", inbox=inbox, kept=MARKS_KEPT)
        return [Mark(row["seq"], row["nonce"]) for row in found]

    async def set_audit_mark(self, inbox: InboxId, mark: Mark) -> None:
        # Crash before it: the next audit begins at the mark before.
        values = {"inbox": inbox, "seq": mark.seq, "nonce": mark.nonce, "kept": MARKS_KEPT}

        async def work(statements: Statements) -> None:
            for name in ("audit_mark_forget", "audit_mark_set"):
                await statements.execute(rows.SQL[name], values)

        await self._run(work)

    async def bind(self, inbox: InboxId) -> str:
        async def work(statements: Statements) -> str:
            await statements.execute(rows.SQL["bind"], {"inbox": inbox})
            (row,) = await statements.fetch(rows.SQL["name"])
            return str(row["name"])

        return await self._run(work)

    async def store_keys(self) -> Sequence[StoreKey]:
        return await self._run(receipts.store_keys)

    async def rewrap(self, keys: Sequence[StoreKey]) -> None:
        changed = [key._asdict() for key in keys]
        await self._run(lambda statements: change_all(statements, "store_key_rewrap", changed))

    async def erase(self, inbox: InboxId, events: Sequence[Erased], *, who: str) -> None:
        states = {"done": EffectState.DONE.value, "dead": EffectState.DEAD.value, "tombstone": Outcome.DEAD.value}
        given = [each._asdict() | states | {"inbox": inbox, "who": storable(who)} for each in events]

        async def work(statements: Statements) -> None:
            # Effects twice: a step that committed while the first waited for it may have staged others.
            for name in ("erase_effects", "erase_results", "erase_effects", "erase_note"):
                await change_all(statements, name, given)

        # Dead before the COMMIT: nothing is erased, and asking again erases it.
        await self._run(work)

    async def erased(self, inbox: InboxId) -> Sequence[Erased]:
        return [Erased(row["event_id"], row["digest"]) for row in await self._fetch("erased", inbox=inbox)]

    async def scrub(self) -> bool:
        try:
            return await self._desk.alone(store.scrub)
        except faults.ANY as error:
            if faults.is_conflict(error):
                return False  # a handler's transaction is open: later
            raise faults.unavailable(error) from error

    def diagnose(self, error: BaseException) -> Fault:
        return faults.diagnose(error)

    async def open(self) -> None:
        await self._desk.open()
        try:
            problems = await self._desk.alone(store.unfit)
        except faults.ANY as error:
            raise faults.unopened(self._desk.where, error, self._named) from error
        store.refuse(problems, self._named)

    async def close(self) -> None:
        await self._desk.close()

    async def migrate(self) -> Sequence[str]:
        name = self._chance.bytes(8).hex()
        try:
            return await self._desk.alone(lambda connection: store.migrate(connection, name))
        except faults.ANY as error:
            raise faults.unavailable(error) from error

    async def problems(self) -> Sequence[str]:
        hazards, others = await self._run(store.examine)
        return [*hazards, *others]

    async def cautions(self) -> Sequence[str]:
        return await self._run(store.cautions)

    async def hazards(self) -> Sequence[str]:
        hazards, _ = await self._run(store.examine)
        return hazards
