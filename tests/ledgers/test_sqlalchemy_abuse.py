"""What handlers do to their session and its connection, on every stack: what is kept is kept with its receipt, nothing
else is kept, and the pool has all of its connections afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pymysql
import pytest
from sqlalchemy import insert

from landfast.domain.errors import HandlerEndedTransactionError, LandfastError, SwallowedDatabaseError, UserError
from landfast.testing.conformance.ledger.desk import DEADLINE, key, orders, receipt_count
from tests.ledgers.mysql_desks import ON_MYSQL, mysql_desk
from tests.ledgers.session_handlers import Desk, Given, Handler, Order, attempt, run
from tests.ledgers.stacks import ON_POSTGRES, STACKS, checked_out, desk_on, is_sqlite

pytestmark = pytest.mark.req("R20")


@pytest.fixture(params=[*STACKS, *ON_MYSQL])
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    stack = request.param
    if stack in ON_MYSQL:
        url = request.getfixturevalue("mariadb").url(request.getfixturevalue("mariadb_database"))
        async with mysql_desk(stack, url) as on_mysql:
            yield on_mysql
        return
    where = tmp_path / "shop.db" if is_sqlite(stack) else request.getfixturevalue("migrated_database")
    async with desk_on(stack, where) as desk:
        yield desk


async def kept(desk: Desk) -> tuple[list[str], int]:
    """The orders and how many receipts; and what must hold after every attempt, whatever came of it."""
    found = await orders(desk), await receipt_count(desk)
    if desk.stack not in ON_MYSQL:  # where there is no guard row
        assert await desk.look(f"SELECT count(*) FROM {desk.table('guard')}") == [(0,)]
    assert checked_out(desk.engine) == 0
    return found


def _add(given: Given, name: str) -> Any:
    return given.add(name)


async def goes_on(desk: Desk) -> None:
    """A plain event on the same pool, with as many transactions before it as the pool has connections."""
    for number in range(6):
        add = partial(_add, name=f"next_{number}")
        assert await attempt(desk, add, name=f"evt_next{number}") is None
    assert checked_out(desk.engine) == 0


async def is_kept(desk: Desk, handler: Handler, expected: list[str]) -> None:
    assert await attempt(desk, handler) is None
    assert await kept(desk) == (expected, 1)
    await goes_on(desk)


async def is_refused(desk: Desk, handler: Handler, error: type[BaseException], words: str) -> None:
    failed = await attempt(desk, handler)
    assert isinstance(failed, error), failed
    assert words in str(failed)
    assert await kept(desk) == ([], 0)
    await goes_on(desk)


async def test_a_commit_of_the_session_sends_what_is_pending_and_commits_nothing_yet(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        given.session.add(Order(payment="pay_1"))
        await given.call("commit")
        assert await given.outsider_sees(desk) == []
        given.session.add(Order(payment="pay_2"))

    await is_kept(desk, handler, ["pay_1", "pay_2"])


async def test_a_rollback_of_the_session_ends_the_attempt(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        await given.call("rollback")

    await is_refused(desk, handler, HandlerEndedTransactionError, "rolled its session back")


async def test_a_rollback_a_new_write_and_a_commit_leave_nothing(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        await given.call("rollback")
        await given.add("pay_2")
        await given.call("commit")

    await is_refused(desk, handler, HandlerEndedTransactionError, "")


async def test_the_same_with_every_error_swallowed(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        for step in ("rollback", "add", "commit"):
            with contextlib.suppress(Exception):
                await (given.add("pay_2") if step == "add" else given.call(step))

    await is_refused(desk, handler, HandlerEndedTransactionError, "rolled its session back")


async def test_a_session_that_is_closed_and_used_again_is_still_ours(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        await given.call("close")
        await given.add("pay_2")

    await is_kept(desk, handler, ["pay_1", "pay_2"])


async def test_a_block_with_begin_is_a_part_of_the_transaction(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        if given.is_blocking:
            with given.session.begin():
                given.session.add(Order(payment="pay_1"))
        else:
            async with given.session.begin():
                given.session.add(Order(payment="pay_1"))

    await is_kept(desk, handler, ["pay_1"])


async def test_a_savepoint_that_is_rolled_back_undoes_what_is_inside(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        point = await given.call("begin_nested")
        await given.add("pay_2")
        await given.do(point.rollback())
        with contextlib.suppress(Exception):
            point = await given.call("begin_nested")
            await given.do(given.session.execute(insert(Order).values(payment="pay_1")))
        await given.do(point.rollback())
        await given.add("pay_3")

    await is_kept(desk, handler, ["pay_1", "pay_3"])


async def test_a_savepoint_that_is_left_open_fails_the_attempt(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        await given.call("begin_nested")
        await given.add()

    await is_refused(desk, handler, HandlerEndedTransactionError, "left a savepoint open")


async def test_a_savepoint_of_the_connection_that_is_left_open_fails_the_attempt(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        connection = await given.connection()
        await given.do(connection.begin_nested())
        await given.add()

    await is_refused(desk, handler, HandlerEndedTransactionError, "left a savepoint open")


async def test_a_flush_whose_error_is_swallowed_fails_the_attempt(desk: Desk) -> None:
    await desk.change("INSERT INTO shop_order VALUES ('there')")

    async def handler(given: Given) -> None:
        with contextlib.suppress(Exception):
            await given.add("there")

    failed = await attempt(desk, handler)
    assert isinstance(failed, SwallowedDatabaseError), failed
    assert await kept(desk) == (["there"], 0)
    await goes_on(desk)


async def test_an_error_that_only_our_flush_finds_is_the_events_own(desk: Desk) -> None:
    await desk.change("INSERT INTO shop_order VALUES ('there')")

    async def handler(given: Given) -> None:
        given.session.add(Order(payment="there"))

    failed = await attempt(desk, handler)
    assert type(failed).__name__ == "IntegrityError"
    assert await kept(desk) == (["there"], 0)
    await goes_on(desk)


async def test_a_raw_statement_whose_error_is_swallowed(desk: Desk) -> None:
    """PostgreSQL loses the transaction with it; SQLite and MySQL undo the statement alone."""

    async def handler(given: Given) -> None:
        await given.add()
        with contextlib.suppress(Exception):
            await given.execute("INSERT INTO shop_order VALUES ('pay_1')")

    if desk.stack in ON_POSTGRES:
        await is_refused(desk, handler, SwallowedDatabaseError, "")
    else:
        await is_kept(desk, handler, ["pay_1"])


async def test_an_error_swallowed_rolled_back_and_gone_on_from_fails_the_attempt(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        with contextlib.suppress(Exception):
            await given.execute("INSERT INTO shop_order VALUES ('pay_1')")
        await given.call("rollback")
        await given.add("pay_2")
        await given.call("commit")

    await is_refused(desk, handler, LandfastError, "")


@pytest.mark.parametrize("statement", ["COMMIT", "ROLLBACK", "BEGIN"])
async def test_words_that_end_the_transaction_are_not_sent(desk: Desk, statement: str) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        await given.execute(statement)

    await is_refused(desk, handler, HandlerEndedTransactionError, f"may not send {statement}")


async def test_words_that_end_the_transaction_are_not_sent_when_nobody_looks(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        for statement in ("COMMIT", "ROLLBACK"):
            with contextlib.suppress(HandlerEndedTransactionError):
                await given.execute(statement)

    await is_kept(desk, handler, ["pay_1"])


@pytest.mark.parametrize("swallows", [False, True])
async def test_a_commit_of_the_connection_is_refused(desk: Desk, swallows: bool) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        connection = await given.connection()
        with contextlib.suppress(Exception if swallows else ZeroDivisionError):
            await given.do(connection.commit())

    await is_refused(desk, handler, HandlerEndedTransactionError, "may not commit its connection")


async def test_a_connection_that_the_handler_closes_ends_the_attempt(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        connection = await given.connection()
        await given.do(connection.close())

    await is_refused(desk, handler, HandlerEndedTransactionError, "")


async def test_a_rollback_on_the_driver_lets_no_later_write_through(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        await given.raw("ROLLBACK")
        await given.add("pay_2")

    # MySQL's server refuses it.
    await is_refused(desk, handler, pymysql.MySQLError if desk.stack in ON_MYSQL else HandlerEndedTransactionError, "")


async def test_a_commit_on_the_driver_commits_nothing_by_itself(desk: Desk) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        with contextlib.suppress(Exception):
            await given.raw("COMMIT")
        assert await given.outsider_sees(desk) == []

    failed = await attempt(desk, handler)
    found = await kept(desk)
    assert found == (([], 0) if desk.stack in ON_POSTGRES else (["pay_1"], 1)), failed
    await goes_on(desk)


async def test_the_drivers_own_commit_and_rollback(desk: Desk) -> None:
    """What psycopg2's and asyncpg's bare connection let through is noticed, and the attempt fails."""

    async def handler(given: Given) -> None:
        await given.add()
        connection = given.scope.handle.connection
        for step in ("rollback", "write", "commit"):
            if step == "write":
                await desk.raw(connection, "INSERT INTO shop_order VALUES ('leaked')")
            elif hasattr(connection, step):
                await given.do(getattr(connection, step)())
            else:
                await desk.raw(connection, step)

    failed = await attempt(desk, handler)
    assert failed is not None
    found, receipts = await kept(desk)
    assert receipts == 0
    assert found == [] or desk.stack in ("asyncpg", "sync psycopg2"), failed
    await goes_on(desk)


async def test_a_session_after_its_handler_sends_nothing(desk: Desk) -> None:
    leaked: list[Given] = []

    async def handler(given: Given) -> None:
        await given.add()
        leaked.append(given)

    assert await attempt(desk, handler) is None
    with pytest.raises(Exception, match=r"closed|has ended"):
        await leaked[0].add("late")
    assert await kept(desk) == (["pay_1"], 1)
    await goes_on(desk)


async def test_a_deferred_constraint_refuses_the_commit(desk: Desk) -> None:
    if desk.stack not in ON_POSTGRES:
        pytest.skip("MySQL has none, and on SQLite foreign keys are off on the user's connections")

    async def handler(given: Given) -> None:
        await given.execute("INSERT INTO shop_line VALUES ('no such order')")

    await is_refused(desk, handler, LandfastError, "COMMIT was refused")


async def test_whether_a_handler_used_its_transaction_is_known(desk: Desk) -> None:
    tx = await desk.ledger.begin(deadline=DEADLINE)
    await tx.reserve([key()])
    scope = await tx.scope()
    scope.given("session")
    await scope.close()
    assert not scope.used
    await tx.rollback()
    tx = await desk.ledger.begin(deadline=DEADLINE)
    scope = await tx.scope()
    scope.given("session").add(Order(payment="pay_1"))
    await scope.close()
    assert scope.used
    await tx.rollback()


async def test_a_savepoint_of_the_event_before_is_not_rolled_back_to(desk: Desk) -> None:
    async def leaves(given: Given) -> None:
        await given.execute("SAVEPOINT mine")
        await given.add("pay_1")

    async def goes_back(given: Given) -> None:
        await given.execute("ROLLBACK TO SAVEPOINT mine")

    tx = await desk.ledger.begin(deadline=DEADLINE)
    try:
        await tx.reserve([key("evt_1"), key("evt_2")])
        await run(desk, tx, leaves)
        with pytest.raises(UserError, match="mine"):
            await run(desk, tx, goes_back)
    finally:
        await tx.rollback()
