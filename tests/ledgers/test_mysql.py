"""Ledgers on MySQL pass the suite of every ledger, where the two are alike. On MySQL nothing is deferred to COMMIT, and
the server refuses what others notice: a transaction that the handler ends is one that it cannot end."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from landfast.domain.errors import HandlerEndedTransactionError
from landfast.testing.conformance.ledger import Desk, LedgerConformance
from landfast.testing.conformance.ledger.desk import effect, key, order, orders, receipt_count, transaction
from landfast.testing.conformance.ledger.effects import claim
from landfast.testing.conformance.ledger.receipts import ReceiptConformance
from landfast.testing.conformance.ledger.replays import ReplayConformance
from landfast.testing.conformance.ledger.sql import SqlConformance
from landfast.testing.conformance.ledger.transactions import EndingConformance, GuardConformance, HandleConformance
from tests.ledgers.mysql_desks import mysql_desk
from tests.mariadb import MariaDb


class OnMysql(
    ReceiptConformance, ReplayConformance, HandleConformance, SqlConformance, GuardConformance, EndingConformance
):
    """What is about transactions."""

    async def test_arguments_go_by_their_numbers(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            assert await tx.handle.fetchval("SELECT CONCAT($2, $1, '100%')", "b", "a") == "ab100%"

    async def test_a_foreign_rollback_is_noticed(self, desk: Desk) -> None:
        """It is refused, and nothing is lost."""
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            with pytest.raises(Exception, match="XAER_RMFAIL"):
                await desk.raw(tx.handle.connection, "ROLLBACK")
            await order(tx, "pay_2")
            await tx.check()
        assert (await orders(desk), await receipt_count(desk)) == ([], 0)

    async def test_a_transaction_that_the_handler_began_is_not_ours(self, desk: Desk) -> None:
        """It cannot begin one."""
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            for statement in ("ROLLBACK", "BEGIN", "COMMIT", "SET autocommit = 1", "CREATE TABLE t (i INT)"):
                with pytest.raises(Exception, match="XAER_RMFAIL"):
                    await desk.raw(tx.handle.connection, statement)
            await desk.raw(tx.handle.connection, "INSERT INTO shop_order VALUES ('pay_1')")
            assert (await orders(desk), await receipt_count(desk)) == ([], 0)
            await tx.commit(results=(), effects=())
        assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)

    async def test_a_deferred_constraint_refuses_the_commit_and_leaves_nothing(self, desk: Desk) -> None:
        """There are none. What refuses a COMMIT here is in `test_mysql_own.py`."""

    @pytest.mark.parametrize(
        "statement", ["CREATE TABLE t (i INT)", "TRUNCATE shop_order", "XA END 'x'", "lock tables t read"]
    )
    async def test_it_refuses_what_would_commit_by_itself(self, desk: Desk, statement: str) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            with pytest.raises(HandlerEndedTransactionError, match="MySQL commits at it"):
                await tx.handle.execute(statement)
            await tx.handle.execute("CREATE TEMPORARY TABLE of_mine (i INT)")
            await tx.commit(results=(), effects=())
        assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)


class TestAiomysql(OnMysql, LedgerConformance):
    @pytest.fixture
    async def desk(self, mariadb: MariaDb, mariadb_database: str) -> AsyncIterator[Any]:
        async with mysql_desk("aiomysql", mariadb.url(mariadb_database)) as desk:
            yield desk

    async def test_an_effect_of_a_rolled_back_transaction_is_never_there(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            with contextlib.suppress(Exception):
                await tx.commit(results=(), effects=[effect(), effect(context=None)])
        assert await claim(desk.ledger, 1) == []


class TestPymysql(OnMysql):
    """Its desk is the same."""

    @pytest.fixture
    async def desk(self, mariadb: MariaDb, mariadb_database: str) -> AsyncIterator[Any]:
        async with mysql_desk("sync pymysql", mariadb.url(mariadb_database)) as desk:
            yield desk
