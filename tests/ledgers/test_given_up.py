"""A transaction in a thread that nobody waits for any more: SQLite has one writer, and whatever it leaves open keeps
everybody else out."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from landfast.ledgers.sqlalchemy.sqlite_transaction import SqlalchemySqliteTransaction
from landfast.processing.handlers.threads import Threads
from landfast.processing.transact import StumbledError
from landfast.processing.trip import in_one_trip
from landfast.testing.conformance.ledger.desk import DEADLINE, key, orders, process
from landfast.testing.conformance.ledger.writes import INSERT, transacted
from tests.ledgers.django_desks import (
    DjangoSqliteDesk,
    django_sqlite_desk,  # noqa: F401 - a fixture
)
from tests.ledgers.loop_time import LoopTime
from tests.ledgers.stacks import StackOnSqlite
from tests.patience import PATIENCE_SECONDS


async def test_a_late_handler_that_had_rows_left_to_read_locks_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was interrupted in the middle of a cursor, which keeps the lock of its connection as long as it lives. So
    nothing of ours may remember the frames that it lived in."""
    desk, ended, cut = StackOnSqlite("sync sqlite", tmp_path / "shop.db"), threading.Event(), threading.Event()
    await desk.open()
    time, hang_up = LoopTime(), SqlalchemySqliteTransaction.hang_up

    def noted(tx: SqlalchemySqliteTransaction) -> None:
        hang_up(tx)
        cut.set()

    monkeypatch.setattr(SqlalchemySqliteTransaction, "hang_up", noted)

    def handle(event: Any, tx: Any) -> None:
        tx.execute(INSERT, event.key)
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n"
        rows = tx.connection.execute(numbers)
        try:
            for (number,) in rows:
                if number == 5:
                    time.move(2 * DEADLINE)
                    cut.wait(PATIENCE_SECONDS)
                tx.session.connection().exec_driver_sql("INSERT INTO shop_order (payment) VALUES (?)", (f"{number}",))
        finally:
            ended.set()

    try:
        with pytest.raises(StumbledError):
            await transacted(desk, handle, ["pay_1"], deadline=DEADLINE)
        await asyncio.to_thread(ended.wait, PATIENCE_SECONDS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (free := await _is_free(desk)) is not True:
                gc.collect()  # SQLAlchemy's own frames are a circle
                assert free is None
        assert await orders(desk) == ["pay_9"]
    finally:
        await desk.close()


async def _is_free(desk: StackOnSqlite) -> bool | None:
    try:
        return await process(desk.ledger, key("evt_9"), "pay_9") is None
    except Exception as error:
        if "locked" not in str(error):
            raise
        return None


@pytest.mark.parametrize("way", ["a worker", "an effect"])
async def test_a_thread_that_cannot_be_started_keeps_no_lock(
    django_sqlite_desk: DjangoSqliteDesk,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    ledger = django_sqlite_desk.ledger

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def work(_driven: Any, _trip: Any) -> None: ...

    tx: Any = await ledger.begin(deadline=DEADLINE)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        if way == "a worker":
            with pytest.raises(RuntimeError, match="can't start"):
                await in_one_trip(tx, work, tx.lane, deadline=DEADLINE, threads=Threads(), hung=lambda: None)
        else:
            for step in (lambda: tx.reserve([key("evt_1")]), tx.rollback):
                with pytest.raises(RuntimeError, match="can't start"):
                    await step()
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await process(ledger, key("evt_9"), "pay_9") is None
