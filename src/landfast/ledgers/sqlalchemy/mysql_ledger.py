"""The ledger on the user's engine for MySQL or MariaDB."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from landfast.domain import isolation as levels
from landfast.ledgers import limits
from landfast.ledgers.mysql import MysqlLedger, faults
from landfast.ledgers.sqlalchemy.driving import Driving
from landfast.ledgers.sqlalchemy.joining import Joining, Made
from landfast.ledgers.sqlalchemy.mysql_transaction import SqlalchemyMysqlTransaction
from landfast.ledgers.sqlalchemy.target import Target
from landfast.ports.clock import Chance
from landfast.ports.ledger import LedgerTransaction
from landfast.sealing import Seal


class SqlalchemyMysqlLedger(MysqlLedger):
    def __init__(self, target: Target, *, chance: Chance, seal: Seal | None, concurrency: int, named: str) -> None:
        super().__init__(target.mysql_desk(), chance=chance, seal=seal, named=named)
        self._target = target
        self._joining = Joining(target)
        self._concurrency = concurrency
        self._killing: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(target.places(concurrency))

    async def begin(self, *, deadline: float, isolation: str | None = None) -> LedgerTransaction:
        level, silence = levels.level(isolation), deadline + limits.STOPPED_GRACE
        await self._places.acquire()

        def made(driving: Driving, gone: Callable[[], None]) -> Made:
            transaction = SqlalchemyMysqlTransaction(
                self._target, driving, gone, silence=silence, seal=self._seal, kill=self._kill
            )
            return Made(transaction, lambda: transaction.begin(level), transaction.hang_up, transaction.fence)

        return await self._joining.begin(made, self._places.release)

    async def open(self) -> None:
        await super().open()
        self._loop = asyncio.get_running_loop()
        self._joining.open()

    async def close(self) -> None:
        await self._joining.close()
        await asyncio.gather(*self._killing)
        await super().close()

    async def cautions(self) -> Sequence[str]:
        return [*await super().cautions(), *self._target.pool_cautions(self._concurrency)]

    def _kill(self, thread: int) -> None:
        """From any thread, and soon. Without it, a receipt would be held until the statement ends."""

        def begin() -> None:
            task = asyncio.ensure_future(self._kill_now(thread))
            self._killing.add(task)
            task.add_done_callback(self._killing.discard)

        with contextlib.suppress(RuntimeError):  # the loop has closed, and this process is about to end
            self._loop.call_soon_threadsafe(begin)

    async def _kill_now(self, thread: int) -> None:
        with contextlib.suppress(*faults.ANY):  # it is gone already, or the whole server is
            await self._desk.run(lambda statements: statements.execute(f"KILL {thread:d}"))
