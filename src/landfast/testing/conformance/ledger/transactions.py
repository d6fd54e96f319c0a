"""The handle that a handler writes on, and what it cannot do with it."""

from __future__ import annotations

import contextlib

import pytest

from landfast.domain.errors import (
    CommitRefusedError,
    ConfigError,
    HandlerEndedTransactionError,
    LandfastError,
    UserError,
)
from landfast.domain.fault import Fault
from landfast.testing.conformance.ledger.desk import (
    DEADLINE,
    Desk,
    key,
    order,
    orders,
    receipt_count,
    transaction,
)

CONTROL = ["COMMIT", "commit work", " -- so\n/* there */ ;ROLLBACK", "BEGIN", "END", "ABORT", "start  transaction"]


class HandleConformance:
    async def test_it_has_the_shape_of_asyncpg(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            handle = tx.handle
            assert await handle.execute("INSERT INTO shop_order VALUES ($1), ($2)", "pay_1", "pay_2") == "INSERT 0 2"
            rows = await handle.fetch("SELECT payment AS paid FROM shop_order ORDER BY payment")
            assert [(row["paid"], row[0]) for row in rows] == [("pay_1", "pay_1"), ("pay_2", "pay_2")]
            row = await handle.fetchrow("SELECT payment FROM shop_order WHERE payment = $1", "pay_2")
            assert row["payment"] == "pay_2"
            assert await handle.fetchval("SELECT count(*) FROM shop_order") == 2
            assert await handle.fetchrow("SELECT payment FROM shop_order WHERE payment = 'none'") is None
            assert await handle.fetchval("SELECT payment FROM shop_order WHERE payment = 'none'") is None
            assert await handle.execute("UPDATE shop_order SET payment = payment") == "UPDATE 2"
            assert await handle.execute("SELECT payment FROM shop_order") == "SELECT 2"
            assert await handle.execute("DELETE FROM shop_order WHERE payment = $1", "pay_1") == "DELETE 1"

    async def test_arguments_go_by_their_numbers(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            assert await tx.handle.fetchval("SELECT CAST($2 AS TEXT) || CAST($1 AS TEXT)", "b", "a") == "ab"

    async def test_an_error_inside_a_savepoint_undoes_only_what_is_inside(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            with contextlib.suppress(Exception):
                async with tx.handle.savepoint():
                    await order(tx, "pay_2")
                    await order(tx, "pay_1")
            await order(tx, "pay_3")
            await tx.commit(results=(), effects=())
        assert await orders(desk) == ["pay_1", "pay_3"]

    async def test_savepoints_nest(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            async with tx.handle.savepoint():
                await order(tx, "pay_1")
                with contextlib.suppress(ValueError):
                    async with tx.handle.savepoint():
                        await order(tx, "pay_2")
                        raise ValueError
                async with tx.handle.savepoint():
                    await order(tx, "pay_3")
            await tx.commit(results=(), effects=())
        assert await orders(desk) == ["pay_1", "pay_3"]

    @pytest.mark.parametrize("statement", CONTROL)
    async def test_it_refuses_to_begin_or_end_a_transaction(self, desk: Desk, statement: str) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            for method in (tx.handle.execute, tx.handle.fetch, tx.handle.fetchrow, tx.handle.fetchval):
                with pytest.raises(HandlerEndedTransactionError, match="savepoint"):
                    await method(statement)
            await order(tx, "pay_1")
            await tx.commit(results=(), effects=())
        assert await orders(desk) == ["pay_1"]

    @pytest.mark.parametrize("ending", ["commit", "rollback"])
    async def test_a_leaked_handle_is_of_no_use(self, desk: Desk, ending: str) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            leaked = tx.handle
            if ending == "commit":
                await tx.commit(results=(), effects=())
        for use in (leaked.execute, leaked.fetch, leaked.fetchrow, leaked.fetchval):
            with pytest.raises(UserError, match="has ended"):
                await use("SELECT 1")
        with pytest.raises(UserError, match="has ended"):
            _ = leaked.connection
        with pytest.raises(UserError, match="has ended"):
            async with leaked.savepoint():
                pass
        async with transaction(desk.ledger):
            with pytest.raises(UserError, match="has ended"):
                await leaked.execute("INSERT INTO shop_order VALUES ('leaked')")

    async def test_the_handler_may_use_the_connection_of_the_driver(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await desk.raw(tx.handle.connection, "SAVEPOINT mine")
            await desk.raw(tx.handle.connection, "INSERT INTO shop_order VALUES ('pay_1')")
            await desk.raw(tx.handle.connection, "RELEASE SAVEPOINT mine")
            await tx.check()
            await tx.commit(results=(), effects=())
        assert await orders(desk) == ["pay_1"]

    async def test_a_missing_table_or_column_is_a_fault_of_the_schema(self, desk: Desk) -> None:
        for query in ("SELECT * FROM shop_ordr", "SELECT pament FROM shop_order"):
            async with transaction(desk.ledger) as tx:
                with pytest.raises(Exception) as caught:  # noqa: PT011 - each driver has its own
                    await tx.handle.execute(query)
            assert desk.ledger.diagnose(caught.value) is Fault.SCHEMA

    async def test_a_violated_constraint_is_the_fault_of_the_handlers_data(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await order(tx, "pay_1")
            with pytest.raises(Exception) as caught:  # noqa: PT011 - each driver has its own
                await order(tx, "pay_1")
        assert desk.ledger.diagnose(caught.value) is Fault.OTHER

    async def test_an_error_of_no_database_is_no_fault_of_the_database(self, desk: Desk) -> None:
        for error in (ValueError("no"), TimeoutError(), ConnectionResetError()):
            assert desk.ledger.diagnose(error) is Fault.OTHER


class GuardConformance:
    async def test_a_foreign_commit_fails_and_commits_nothing(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            with pytest.raises(Exception, match=r"(?i)foreign key|not authorized|XAER_RMFAIL"):
                await desk.raw(tx.handle.connection, "COMMIT")
            assert (await orders(desk), await receipt_count(desk)) == ([], 0)
        assert (await orders(desk), await receipt_count(desk)) == ([], 0)

    async def test_a_handler_that_hides_its_foreign_commit_gains_nothing(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            for statement in ("COMMIT", "BEGIN", "INSERT INTO shop_order VALUES ('pay_2')"):
                with contextlib.suppress(Exception):
                    await desk.raw(tx.handle.connection, statement)
            with contextlib.suppress(LandfastError):
                await tx.commit(results=(), effects=())
        # A server that drops the transaction at the failed COMMIT refuses ours; one that keeps it commits all of it.
        assert (len(await orders(desk)), await receipt_count(desk)) in {(0, 0), (2, 1)}

    async def test_a_foreign_rollback_is_noticed(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            await desk.raw(tx.handle.connection, "ROLLBACK")
            with pytest.raises(HandlerEndedTransactionError):
                await order(tx, "pay_2")
            with pytest.raises(HandlerEndedTransactionError):
                await tx.check()
            with pytest.raises(HandlerEndedTransactionError):
                await tx.commit(results=(), effects=())
        assert (await orders(desk), await receipt_count(desk)) == ([], 0)

    async def test_a_transaction_that_the_handler_began_is_not_ours(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            for statement in ("ROLLBACK", "BEGIN", "INSERT INTO shop_order VALUES ('pay_1')"):
                with contextlib.suppress(Exception):  # a driver may refuse it
                    await desk.raw(tx.handle.connection, statement)
            with pytest.raises(HandlerEndedTransactionError):
                await tx.check()
            with pytest.raises(HandlerEndedTransactionError):
                await tx.commit(results=(), effects=())
        assert (await orders(desk), await receipt_count(desk)) == ([], 0)

    async def test_the_ledger_goes_on_after_a_handler_that_ended_its_transaction(self, desk: Desk) -> None:
        await self.test_a_foreign_rollback_is_noticed(desk)
        await self.test_a_foreign_commit_fails_and_commits_nothing(desk)
        async with transaction(desk.ledger) as tx:
            assert await tx.reserve([key()]) == [None]
            await tx.commit(results=(), effects=())

    async def test_a_healthy_transaction_passes_the_check_and_goes_on(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key(), key("evt_2")])
            await order(tx, "pay_1")
            await tx.check()
            tx.handle = (await tx.scope()).handle
            await order(tx, "pay_2")
            await tx.check()
            await tx.commit(results=(), effects=())
        assert (await orders(desk), await receipt_count(desk)) == (["pay_1", "pay_2"], 2)


class EndingConformance:
    async def test_a_deferred_constraint_refuses_the_commit_and_leaves_nothing(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await tx.handle.execute("INSERT INTO shop_line VALUES ('no such order')")
            await tx.check()
            with pytest.raises(CommitRefusedError) as caught:
                await tx.commit(results=(), effects=())
        assert caught.value.__cause__ is not None
        assert desk.ledger.diagnose(caught.value) is Fault.OTHER
        assert await receipt_count(desk) == 0

    async def test_rollback_is_safe_twice_and_after_a_commit(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            await tx.commit(results=(), effects=())
            await tx.rollback()
        async with transaction(desk.ledger) as tx:
            await tx.rollback()
        assert await orders(desk) == ["pay_1"]

    async def test_an_ended_transaction_cannot_be_committed(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await tx.rollback()
            with pytest.raises(UserError, match="has ended"):
                await tx.commit(results=(), effects=())
        assert await receipt_count(desk) == 0

    @pytest.mark.parametrize("isolation", [None, "read committed", "REPEATABLE_READ", "Serializable"])
    async def test_a_handler_chooses_its_isolation(self, desk: Desk, isolation: str | None) -> None:
        async with transaction(desk.ledger, isolation=isolation) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            await tx.commit(results=[(key(), b"1")], effects=())
        assert await orders(desk) == ["pay_1"]

    async def test_an_isolation_that_does_not_exist_is_refused_with_the_ones_that_do(self, desk: Desk) -> None:
        with pytest.raises(ConfigError, match="serializable"):
            await desk.ledger.begin(deadline=DEADLINE, isolation="chaos; DROP TABLE shop_order")
        async with transaction(desk.ledger) as tx:
            await order(tx, "pay_1")
