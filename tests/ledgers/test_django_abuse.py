"""What handlers do to a transaction of Django's that is not theirs to end, on both databases: kept whole, or not at all."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, close_old_connections, connections, transaction
from django.db.transaction import TransactionManagementError

from landfast.domain.errors import (
    CommitRefusedError,
    HandlerEndedTransactionError,
    SwallowedDatabaseError,
)
from landfast.domain.outcome import Receipt
from landfast.testing.conformance.ledger.desk import key, orders, receipt_count
from tests.django_shop import project
from tests.ledgers.django_desks import (
    DjangoPostgresDesk,
    DjangoSqliteDesk,
    django_postgres_desk,  # noqa: F401 - a fixture
    django_sqlite_desk,  # noqa: F401 - a fixture
)
from tests.ledgers.driven import in_its_place
from tests.patience import PATIENCE_SECONDS

project.set_up()

from tests.django_shop.models import Line, Order  # noqa: E402 - models need Django's settings

DjangoDesk = DjangoPostgresDesk | DjangoSqliteDesk
KEPT = None


@pytest.fixture(params=["django_postgres_desk", "django_sqlite_desk"])
def desk(request: pytest.FixtureRequest) -> DjangoDesk:
    found: DjangoDesk = request.getfixturevalue(request.param)
    return found


class Shop:
    """The handler's side: it knows its alias, and all else is Django."""

    def __init__(self, alias: str) -> None:
        self.alias = alias

    @property
    def orders(self) -> Any:
        return Order.objects.using(self.alias)

    @property
    def connection(self) -> Any:
        return connections[self.alias]

    @property
    def raw(self) -> Any:
        return self.connection.connection

    def order(self, payment: str) -> None:
        self.orders.create(payment=payment)

    def send(self, statement: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)

    def send_raw(self, statement: str) -> None:
        cursor = self.raw.cursor()
        cursor.execute(statement)
        cursor.close()


Abuse = Callable[[Shop], object]


async def attempt(desk: DjangoDesk, handler: Callable[[], Any], name: str = "evt_1") -> Receipt | None:
    """As a worker does it: begin, reserve, handle, commit."""

    async def work(tx: Any) -> Receipt | None:
        try:
            taken: Receipt | None
            (taken,) = await tx.reserve([key(name)])
            if taken is None:
                scope = await tx.scope()
                tx.call(handler, is_async=inspect.iscoroutinefunction(handler))
                await scope.close()
            await tx.commit(results=(), effects=())
        except BaseException:
            await tx.rollback()
            raise
        return taken

    return await in_its_place(await desk.ledger.begin(deadline=PATIENCE_SECONDS), work)


async def sound(desk: DjangoDesk) -> None:
    """Nothing is left of what happened before: the lanes are free, and a plain event has its way."""
    before = await orders(desk)
    shop = Shop(desk.alias)
    assert await attempt(desk, lambda: shop.order("plain"), "evt_plain") is None
    assert await orders(desk) == sorted([*before, "plain"])
    lanes: Any = desk.ledger._lanes  # type: ignore[union-attr]
    assert len(lanes._idle) == len(lanes._all)
    assert await desk.look(f"SELECT count(*) FROM {desk.table('guard')}") == [(0,)]


def commit(shop: Shop) -> None:
    shop.order("pay_1")
    transaction.commit(using=shop.alias)


def commit_swallowed(shop: Shop) -> None:
    shop.order("pay_1")
    with contextlib.suppress(TransactionManagementError):
        transaction.commit(using=shop.alias)


def rollback(shop: Shop) -> None:
    shop.order("pay_1")
    transaction.rollback(using=shop.alias)


def set_rollback(shop: Shop) -> None:
    shop.order("pay_1")
    transaction.set_rollback(True, using=shop.alias)


def autocommit(shop: Shop) -> None:
    shop.order("pay_1")
    transaction.set_autocommit(True, using=shop.alias)


def atomic(shop: Shop) -> None:
    with transaction.atomic(shop.alias):
        shop.order("pay_1")


def atomic_undone(shop: Shop) -> None:
    shop.order("pay_1")
    with contextlib.suppress(IntegrityError), transaction.atomic(shop.alias):
        shop.order("pay_1")


def durable(shop: Shop) -> None:
    with transaction.atomic(shop.alias, durable=True):
        shop.order("pay_1")


def left_open(shop: Shop) -> None:
    shop.order("pay_1")
    transaction.atomic(shop.alias).__enter__()
    shop.order("pay_2")


def swallowed(shop: Shop) -> None:
    shop.order("pay_1")
    with contextlib.suppress(IntegrityError):
        shop.order("pay_1")


def swallowed_sql(shop: Shop) -> None:
    shop.order("pay_1")
    with contextlib.suppress(DatabaseError):
        shop.send("INSERT INTO shop_order VALUES ('pay_1')")


def deferred(shop: Shop) -> None:
    shop.order("pay_1")
    Line.objects.using(shop.alias).create(payment="of no order")


def closed(shop: Shop) -> None:
    shop.order("pay_1")
    shop.connection.close()


def closed_and_opened(shop: Shop) -> None:
    shop.order("pay_1")
    shop.connection.close()
    shop.connection.connection = None
    shop.connection.connect()
    shop.order("pay_2")


def old_connections(shop: Shop) -> None:
    shop.order("pay_1")
    close_old_connections()


def text(statement: str) -> Abuse:
    def abuse(shop: Shop) -> None:
        shop.order("pay_1")
        with contextlib.suppress(HandlerEndedTransactionError):
            shop.send(statement)
        raise_if_sent(shop)

    return abuse


def raise_if_sent(shop: Shop) -> None:
    shop.connection.ensure_connection()


def driver(*steps: str) -> Abuse:
    """On the driver's own connection, whatever it raises."""

    def abuse(shop: Shop) -> None:
        shop.order("pay_1")
        for step in steps:
            with contextlib.suppress(Exception):
                getattr(shop.raw, step)() if step in {"commit", "rollback"} else shop.send_raw(step)

    return abuse


def driver_then_orm(shop: Shop) -> None:
    driver("rollback")(shop)
    shop.order("pay_2")


INSERT = "INSERT INTO shop_order VALUES ('pay_2')"

ABUSES: list[tuple[str, Abuse, type[BaseException] | None, list[str]]] = [
    ("commit", commit, TransactionManagementError, []),
    ("commit, error swallowed", commit_swallowed, KEPT, ["pay_1"]),
    ("rollback", rollback, TransactionManagementError, []),
    ("set_rollback", set_rollback, SwallowedDatabaseError, []),
    ("set_autocommit", autocommit, TransactionManagementError, []),
    ("atomic", atomic, KEPT, ["pay_1"]),
    ("error in atomic", atomic_undone, KEPT, ["pay_1"]),
    ("durable", durable, RuntimeError, []),
    ("savepoint left open", left_open, HandlerEndedTransactionError, []),
    ("error swallowed", swallowed, SwallowedDatabaseError, []),
    ("deferred constraint", deferred, CommitRefusedError, []),
    ("close", closed, HandlerEndedTransactionError, []),
    ("close, connect", closed_and_opened, HandlerEndedTransactionError, []),
    ("close_old_connections", old_connections, HandlerEndedTransactionError, []),
    ("COMMIT refused and swallowed", text("COMMIT"), KEPT, ["pay_1"]),
    ("ROLLBACK refused and swallowed", text("ROLLBACK"), KEPT, ["pay_1"]),
]


@pytest.mark.parametrize(("abuse", "raises", "kept"), [pytest.param(*row[1:], id=row[0]) for row in ABUSES])
async def test_a_handler_cannot_end_its_transaction(
    desk: DjangoDesk, abuse: Abuse, raises: type[BaseException] | None, kept: list[str]
) -> None:
    shop = Shop(desk.alias)
    if raises is None:
        await attempt(desk, lambda: abuse(shop))
    else:
        with pytest.raises(raises):
            await attempt(desk, lambda: abuse(shop))
    assert (await orders(desk), await receipt_count(desk)) == (kept, bool(kept))
    await sound(desk)


@pytest.mark.parametrize("statement", ["COMMIT", "ROLLBACK", "BEGIN", "-- so\n END"])
async def test_a_statement_that_ends_it_is_refused_before_it_is_sent(desk: DjangoDesk, statement: str) -> None:
    shop = Shop(desk.alias)

    def handler() -> None:
        shop.order("pay_1")
        shop.send(statement)

    with pytest.raises(HandlerEndedTransactionError, match="may not send"):
        await attempt(desk, handler)
    assert (await orders(desk), await receipt_count(desk)) == ([], 0)
    await sound(desk)


@pytest.mark.parametrize(
    "steps",
    [
        ("commit",),
        ("rollback",),
        ("COMMIT",),
        ("ROLLBACK",),
        ("rollback", INSERT, "commit"),
        ("ROLLBACK", INSERT, "COMMIT"),
        ("ROLLBACK", "BEGIN", INSERT, "COMMIT"),
        ("commit", "BEGIN", INSERT, "commit"),
    ],
    ids=", ".join,
)
async def test_the_drivers_own_connection_gains_nothing(desk: DjangoDesk, steps: tuple[str, ...]) -> None:
    """Whether it is refused there, or noticed afterwards: the writes and the receipt are both there, or neither."""
    shop = Shop(desk.alias)
    with contextlib.suppress(HandlerEndedTransactionError):
        await attempt(desk, lambda: driver(*steps)(shop))
    written, receipts = await orders(desk), await receipt_count(desk)
    assert (receipts == 1) == ("pay_1" in written)
    assert receipts or written == []
    await sound(desk)


async def test_after_a_hidden_rollback_nothing_is_written_by_the_orm(desk: DjangoDesk) -> None:
    shop = Shop(desk.alias)
    with contextlib.suppress(HandlerEndedTransactionError):
        await attempt(desk, lambda: driver_then_orm(shop))
    written, receipts = await orders(desk), await receipt_count(desk)
    assert (len(written), receipts) in {(0, 0), (2, 1)}
    await sound(desk)


async def test_an_error_that_sql_swallowed_is_lost_on_postgres_and_undone_on_sqlite(desk: DjangoDesk) -> None:
    shop = Shop(desk.alias)
    if isinstance(desk, DjangoSqliteDesk):
        await attempt(desk, lambda: swallowed_sql(shop))
        assert await orders(desk) == ["pay_1"]
    else:
        with pytest.raises(SwallowedDatabaseError):
            await attempt(desk, lambda: swallowed_sql(shop))
        assert (await orders(desk), await receipt_count(desk)) == ([], 0)
    await sound(desk)


async def test_a_handler_that_raises_leaves_nothing_and_its_retry_writes_once(desk: DjangoDesk) -> None:
    shop, tries = Shop(desk.alias), []

    def handler() -> None:
        shop.order("pay_1")
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            await attempt(desk, handler)
    assert await orders(desk) == []
    await attempt(desk, handler)
    assert await attempt(desk, handler) is not None
    assert (await orders(desk), len(tries)) == (["pay_1"], 3)


async def test_an_async_handler_writes_in_the_same_transaction(desk: DjangoDesk) -> None:
    shop = Shop(desk.alias)

    async def handler() -> None:
        await shop.orders.acreate(payment="pay_1")
        assert await shop.orders.acount() == 1

    async def failing() -> None:
        await shop.orders.acreate(payment="pay_2")
        raise ValueError("no")

    await attempt(desk, handler)
    with pytest.raises(ValueError, match="no"):
        await attempt(desk, failing, "evt_2")
    assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)
    await sound(desk)


def test_the_driver_is_the_one_that_was_asked_for() -> None:
    from django.db.backends.postgresql.psycopg_any import is_psycopg3

    assert is_psycopg3 is not bool(os.environ.get("TEST_WITH_PSYCOPG2"))
