"""What handlers do to a psycopg connection, and what is left afterwards: orders, receipts, guard rows, and the pool."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import psycopg
import psycopg.rows
import pytest
from psycopg import sql

from landfast.domain.errors import UserError
from landfast.testing.conformance.ledger.desk import key, orders, receipt_count
from landfast.thread_calls import finish
from tests.ledgers.psycopg_desks import SIZE, BlockingPsycopgDesk, PsycopgDesk
from tests.ledgers.psycopg_handlers import ENDED, INSERT, SWALLOWED, Conn, Handler, attempt, is_as, run
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.req("R20")


@pytest.fixture(params=[PsycopgDesk, BlockingPsycopgDesk], ids=["async", "blocking"])
async def desk(request: pytest.FixtureRequest, migrated_database: str) -> AsyncIterator[PsycopgDesk]:
    made: PsycopgDesk = request.param(migrated_database)
    await made.open()
    yield made
    await made.close()


async def commits(conn: Conn) -> None:
    await conn.order()
    await conn.commit()


async def commits_and_swallows(conn: Conn) -> None:
    with suppress(Exception):
        await commits(conn)


async def rolls_back(conn: Conn) -> None:
    await conn.order()
    await conn.rollback()


async def rolls_back_and_swallows(conn: Conn) -> None:
    with suppress(Exception):
        await rolls_back(conn)


async def rolls_back_and_goes_on(conn: Conn) -> None:
    await rolls_back_and_swallows(conn)
    await conn.order("pay_2")
    with suppress(Exception):
        await conn.commit()


async def nests(conn: Conn) -> None:
    for payment in ("pay_1", "pay_2"):
        nested = conn.given.transaction()
        await conn.enter(nested)
        await conn.order(payment)
        await conn.leave(nested)


async def leaves_a_transaction_open(conn: Conn) -> None:
    await conn.enter(conn.given.transaction())
    await conn.order()


async def leaves_a_pipeline_open(conn: Conn) -> None:
    await conn.enter(conn.given.pipeline())
    await conn.order()


async def pipelines(conn: Conn) -> None:
    pipeline = conn.given.pipeline()
    await conn.enter(pipeline)
    await conn.order()
    await conn.leave(pipeline)


async def swallows(conn: Conn) -> None:
    await conn.order()
    with suppress(psycopg.errors.UniqueViolation):
        await conn.order()


async def says_commit(conn: Conn) -> None:
    await conn.order()
    await conn.execute("/* so */ COMMIT")


async def says_rollback_in_pieces(conn: Conn) -> None:
    await conn.order()
    await conn.execute(sql.SQL("{}").format(sql.SQL("ROLLBACK")))


async def says_commit_in_bytes(conn: Conn) -> None:
    await conn.order()
    await conn.execute(b"commit")


async def rolls_back_below(conn: Conn) -> None:
    conn.below("ROLLBACK")
    await conn.order()


async def begins_below(conn: Conn) -> None:
    conn.below("ROLLBACK", "BEGIN")
    await conn.order()


async def nests_after_a_rollback_below(conn: Conn) -> None:
    conn.below("ROLLBACK")
    with suppress(Exception):
        await nests(conn)


async def commits_below(conn: Conn) -> None:
    await conn.order()
    conn.below("COMMIT")


async def closes(conn: Conn) -> None:
    await conn.order()
    with suppress(Exception):
        await conn.close()


async def wants_autocommit(conn: Conn) -> None:
    await conn.set_autocommit(True)


async def enters(conn: Conn) -> None:
    await conn.enter(conn.given)


async def breaks_a_deferred_constraint(conn: Conn) -> None:
    await conn.order()
    await conn.execute("INSERT INTO shop_line VALUES ('nobody')")


@pytest.mark.parametrize(
    ("handler", "answer", "kept"),
    [
        (commits, ENDED, []),
        (commits_and_swallows, "kept", ["pay_1"]),
        (rolls_back, ENDED, []),
        (rolls_back_and_swallows, ENDED, []),
        (rolls_back_and_goes_on, ENDED, []),
        (nests, "kept", ["pay_1", "pay_2"]),
        (pipelines, "kept", ["pay_1"]),
        (leaves_a_transaction_open, ENDED, []),
        (leaves_a_pipeline_open, ENDED, []),
        (swallows, SWALLOWED, []),
        (says_commit, ENDED, []),
        (says_rollback_in_pieces, ENDED, []),
        (says_commit_in_bytes, ENDED, []),
        (rolls_back_below, ENDED, []),
        (begins_below, ENDED, []),
        (nests_after_a_rollback_below, ENDED, []),
        (commits_below, ENDED, []),
        (closes, ENDED, []),
        (wants_autocommit, ENDED, []),
        (enters, ENDED, []),
        (breaks_a_deferred_constraint, "CommitRefusedError", []),
    ],
)
async def test_nothing_is_kept_without_its_receipt(
    desk: PsycopgDesk, handler: Handler, answer: str, kept: list[str]
) -> None:
    assert await attempt(desk, handler) == answer
    await is_as(desk, kept=kept)


async def test_what_is_committed_below_psycopg_in_a_transaction_of_its_own_is_noticed_and_stays(
    desk: PsycopgDesk,
) -> None:
    """The one thing that cannot be prevented: the page about guarantees says so."""

    async def handler(conn: Conn) -> None:
        conn.below("ROLLBACK", "INSERT INTO shop_order VALUES ('pay_1')")

    assert await attempt(desk, handler) == ENDED
    assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 0)


async def test_a_handler_finds_the_connection_as_the_user_made_it(desk: PsycopgDesk) -> None:
    rows: list[Any] = []

    async def handler(conn: Conn) -> None:
        rows.append(await Conn(await conn.execute("SELECT 1 AS one")).fetchone())
        conn.given.row_factory = psycopg.rows.dict_row
        rows.append(await Conn(await conn.execute("SELECT 1 AS one")).fetchone())
        kind = psycopg.AsyncConnection if desk.is_async else psycopg.Connection
        assert isinstance(conn.given, kind)

    for number in range(2):
        assert await attempt(desk, handler, of=f"evt_{number}") == "kept"
    assert rows == [(1,), {"one": 1}] * 2


async def test_what_a_handler_kept_is_of_no_use_after_its_end(desk: PsycopgDesk) -> None:
    kept: list[Any] = []

    async def handler(conn: Conn) -> None:
        await conn.order()
        kept.extend((conn.given, conn.given.cursor(), conn.given.transaction()))

    assert await attempt(desk, handler) == "kept"
    connection, cursor, nested = kept
    for late in (
        lambda: Conn(connection).execute(INSERT, ("late",)),
        lambda: Conn(cursor).execute(INSERT, ("late",)),
        lambda: Conn(connection).enter(nested),
    ):
        with pytest.raises(Exception, match="has ended"):
            await late()
    await is_as(desk, kept=["pay_1"])


async def test_both_placeholders_work_on_tx(desk: PsycopgDesk) -> None:
    tx = await desk.ledger.begin(deadline=PATIENCE_SECONDS)
    await tx.reserve([key()])
    handle = (await tx.scope()).handle
    assert await handle.execute("INSERT INTO shop_order VALUES ($1)", "pay_1") == "INSERT 0 1"
    assert await handle.execute(INSERT, "pay_2") == "INSERT 0 1"
    (first, second) = await handle.fetch("SELECT payment FROM shop_order WHERE payment LIKE 'pay%' ORDER BY 1")
    assert (first["payment"], second[0], tuple(second)) == ("pay_1", "pay_2", ("pay_2",))
    assert await handle.fetchval("SELECT count(*) FROM shop_order WHERE payment = %s", "pay_1") == 1
    await tx.commit(results=(), effects=())
    await is_as(desk, kept=["pay_1", "pay_2"])


async def test_what_a_pool_sets_on_its_connections_outlives_what_handlers_set(desk: PsycopgDesk) -> None:
    shown: list[str] = []

    async def look(conn: Conn) -> None:
        shown.append(await conn.first("SHOW statement_timeout"))

    async def set_one(conn: Conn) -> None:
        await look(conn)
        await conn.execute("SET LOCAL statement_timeout = '5s'")

    async def configure(connection: Any) -> None:
        await Conn(connection).execute("SET statement_timeout = '77s'")
        await Conn(connection).commit()

    desk.pool._configure = configure if desk.is_async else lambda connection: finish(configure(connection))
    tx = await desk.ledger.begin(deadline=PATIENCE_SECONDS)
    await tx.reserve([key(), key("evt_2")])
    for handler in (set_one, look):
        scope = await tx.scope()
        await run(tx, handler(Conn(scope.given("connection"))))
        await scope.close()
    await tx.commit(results=(), effects=())
    await tx.rollback()
    connection = await desk.borrow()
    await look(Conn(connection))
    await desk.give_back(connection)
    assert shown == ["77s", "77s", "77s"]


async def test_a_savepoint_of_the_event_before_is_not_rolled_back_to(desk: PsycopgDesk) -> None:
    tx = await desk.ledger.begin(deadline=PATIENCE_SECONDS)
    await tx.reserve([key("evt_1"), key("evt_2")])

    async def leaves(conn: Conn) -> None:
        await conn.execute("SAVEPOINT mine")
        await conn.order()

    async def goes_back(conn: Conn) -> None:
        with pytest.raises(UserError, match="mine"):
            await conn.execute("ROLLBACK TO mine")
        await conn.execute("SAVEPOINT mine")
        await conn.order("pay_2")
        await conn.execute("ROLLBACK TO mine")

    for handler in (leaves, goes_back):
        scope = await tx.scope()
        await run(tx, handler(Conn(scope.given("connection"))))
        await scope.close()
    await tx.commit(results=(), effects=())
    assert await orders(desk) == ["pay_1"]


async def test_who_a_handler_became_the_next_event_is_not(desk: PsycopgDesk) -> None:
    async def becomes_another(conn: Conn) -> None:
        await conn.order()
        await conn.execute("SET SESSION AUTHORIZATION pg_monitor")

    async def looks(conn: Conn) -> None:
        assert await conn.first("SELECT session_user") == "postgres"

    for number in range(SIZE):
        assert await attempt(desk, looks, of=f"before_{number}") == "kept"
    assert await attempt(desk, becomes_another) == "kept"
    for number in range(SIZE):
        assert await attempt(desk, looks, of=f"after_{number}") == "kept"
