"""What only the SQLite ledger can show: one writer, its thread, and its file."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from landfast import sqlfiles
from landfast.domain.errors import CommitUnknownError, ConfigError, SwallowedDatabaseError
from landfast.domain.fault import Fault
from landfast.domain.outcome import Outcome, Receipt
from landfast.ledgers.sqlite import SqliteLedger, faults, store
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.conformance.ledger.desk import key, order, orders, process, receipt_count, transaction
from tests.ledgers.conftest import SqliteDesk
from tests.patience import PATIENCE_SECONDS

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
PATIENCE = PATIENCE_SECONDS


async def test_an_error_that_rolls_back_by_itself_is_not_swallowed(sqlite_desk: SqliteDesk) -> None:
    desk = sqlite_desk
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        await order(tx, "pay_1")
        with contextlib.suppress(sqlite3.IntegrityError):
            await tx.handle.execute("INSERT OR ROLLBACK INTO shop_order VALUES ('pay_1')")
        for step in (order(tx, "pay_2"), tx.check(), tx.commit(results=(), effects=())):
            with pytest.raises(SwallowedDatabaseError):
                await step
    assert (await orders(desk), await receipt_count(desk)) == ([], 0)


async def test_a_question_mark_for_a_placeholder_is_answered_with_what_to_write(sqlite_desk: SqliteDesk) -> None:
    async with transaction(sqlite_desk.ledger) as tx:
        await tx.reserve([key()])
        with pytest.raises(sqlite3.ProgrammingError, match=r"not \?; write \$1"):
            await tx.handle.execute("INSERT INTO shop_order VALUES (?)", "pay_1")


async def test_a_slow_statement_leaves_the_loop_free_and_ends_when_it_is_cancelled(sqlite_desk: SqliteDesk) -> None:
    desk = sqlite_desk
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        slow = asyncio.create_task(tx.handle.fetchval(ENDLESS))
        # Others read while it runs.
        assert await desk.ledger.receipts([key().digest]) == []
        assert not slow.done()
        slow.cancel()
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(asyncio.CancelledError):
                await slow
            await tx.rollback()
    assert await process(desk.ledger, key(), "pay_1") is None


async def test_a_cancelled_statement_ends_even_if_it_had_only_just_begun(sqlite_desk: SqliteDesk) -> None:
    for number in range(100):
        async with transaction(sqlite_desk.ledger) as tx:
            await tx.reserve([key()])
            slow = asyncio.create_task(tx.handle.fetchval(ENDLESS))
            await sqlite_desk.ledger.receipts([key().digest])
            for _ in range(number % 3):
                await asyncio.sleep(0)
            slow.cancel()
            async with asyncio.timeout(PATIENCE):
                with pytest.raises(asyncio.CancelledError):
                    await slow
                await tx.rollback()


async def test_handlers_of_one_process_queue_for_the_file(sqlite_desk: SqliteDesk) -> None:
    desk = sqlite_desk
    async with transaction(desk.ledger) as tx:
        waiting = [asyncio.create_task(process(desk.ledger, key(f"evt_{each}"), f"pay_{each}")) for each in range(3)]
        assert not (await asyncio.wait(waiting, timeout=1.5))[0], "a queue in the process is longer than the wait"
        await tx.reserve([key("evt_9")])
        await tx.commit(results=(), effects=())
    assert await asyncio.gather(*waiting) == [None] * 3
    assert len(await orders(desk)) == 3


async def test_whoever_is_cancelled_in_the_queue_leaves_it(sqlite_desk: SqliteDesk) -> None:
    desk = sqlite_desk
    async with transaction(desk.ledger):
        waiting = asyncio.create_task(process(desk.ledger, key(), "pay_1"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert await process(desk.ledger, key(), "pay_2") is None


async def test_a_commit_that_is_cancelled_is_unknown_and_the_receipt_tells(
    sqlite_desk: SqliteDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = sqlite_desk
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        await order(tx, "pay_1")
        writer, sent = desk.ledger._writer, asyncio.Event()
        run = writer.run

        async def answer_commit_never(work: Any) -> Any:
            answer = await run(work)
            if not writer.connection.in_transaction:
                sent.set()
                await asyncio.Event().wait()
            return answer

        monkeypatch.setattr(writer, "run", answer_commit_never)
        committing = asyncio.create_task(tx.commit(results=(), effects=()))
        await sent.wait()
        committing.cancel()
        with pytest.raises(CommitUnknownError):
            await committing
        monkeypatch.undo()
    assert await process(desk.ledger, key(), "pay_2") == Receipt(key(), Outcome.DONE)
    assert await orders(desk) == ["pay_1"]


@pytest.mark.parametrize("limit", ["max_page_count = 1", "query_only = ON"])
async def test_a_full_or_read_only_file_is_the_infrastructures_fault(sqlite_desk: SqliteDesk, limit: str) -> None:
    desk = sqlite_desk
    async with transaction(desk.ledger) as tx:
        await desk.raw(tx.handle.connection, f"PRAGMA {limit}")
        with pytest.raises(sqlite3.Error) as caught:
            await tx.handle.execute("INSERT INTO shop_order VALUES ($1)", "x" * 100_000)
    assert desk.ledger.diagnose(caught.value) is Fault.INFRASTRUCTURE


async def test_a_locked_file_is_the_fault_of_a_handler_with_a_connection_of_its_own(sqlite_desk: SqliteDesk) -> None:
    desk = sqlite_desk
    async with transaction(desk.ledger):
        with pytest.raises(sqlite3.OperationalError) as caught:
            await desk.change("INSERT INTO shop_order VALUES ('locked out')")
    assert desk.ledger.diagnose(caught.value) is Fault.OWN_CONNECTION


@pytest.mark.parametrize("kind", ["no folder", "a folder", "no database"])
async def test_a_file_that_cannot_be_opened_is_told_in_one_sentence(tmp_path: Path, kind: str) -> None:
    paths = {"no folder": tmp_path / "none" / "x.db", "a folder": tmp_path, "no database": tmp_path / "text.db"}
    (tmp_path / "text.db").write_text("this is no database, and it is longer than its header would be" * 50)
    with pytest.raises(ConfigError, match="LANDFAST_LEDGER"):
        await SqliteLedger(paths[kind], clock=ManualClock(), chance=SeededChance()).open()


async def test_a_migration_that_fails_is_named_and_leaves_the_schema_as_it_was(
    sqlite_desk: SqliteDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = sqlite_desk
    broken = sqlfiles.Migration(99, "broken", "CREATE TABLE landfast_new (id);\nCREATE TABLE shop_order (id);\n")
    monkeypatch.setattr(store, "MIGRATIONS", [*store.MIGRATIONS, broken])
    with pytest.raises(ConfigError, match="0099_broken"):
        await desk.ledger.migrate()
    assert await desk.look("SELECT count(*) FROM sqlite_master WHERE name = 'landfast_new'") == [(0,)]
    assert await desk.look("SELECT max(number) FROM landfast_ledger_migration") == [(len(store.MIGRATIONS) - 1,)]


async def test_a_file_without_its_durability_has_problems(sqlite_desk: SqliteDesk) -> None:
    ledger = sqlite_desk.ledger
    for thread in (ledger._writer, ledger._reader):
        await thread.run(lambda connection: connection.execute("PRAGMA synchronous = OFF").close())
    (problem,) = await ledger.problems()
    assert "power cut" in problem


def test_who_meets_a_writer_is_told_to_try_again(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    with (
        contextlib.closing(sqlite3.connect(file)) as writer,
        contextlib.closing(sqlite3.connect(file, timeout=0)) as us,
    ):
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError) as caught:
            us.execute("BEGIN IMMEDIATE")
    assert "try again when it is done" in str(faults.unavailable(caught.value))
