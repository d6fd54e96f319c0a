"""`duplicates` on MySQL: the same report, in a database that takes `pi_a` and `PI_A` for one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from landfast.domain.errors import UserError
from landfast.domain.ids import receipt_digest
from landfast.ledgers.sqlalchemy.mysql_address import driver_of
from landfast.operations.duplicates import Asked, find_duplicates, reader_of
from landfast.testing.clock import ManualClock, SeededChance
from tests.mariadb import MariaDb
from tests.operations.test_duplicates import DAY, INBOX

pytestmark = pytest.mark.req("R47")


@pytest.fixture
async def ledger(mariadb: MariaDb, mariadb_database: str) -> AsyncIterator[Any]:
    address = mariadb.url(mariadb_database)
    how = {"clock": ManualClock(), "chance": SeededChance(), "seal": None, "concurrency": 1, "named": "ledger"}
    made = driver_of(address)["make"](address, **how)
    await made.open()
    await made.migrate()
    yield made
    await made.close()


async def test_the_report_is_that_of_the_other_databases(ledger: Any, mariadb: MariaDb, mariadb_database: str) -> None:
    rows = [
        *[("pi_1", "evt_1"), ("PI_1", "evt_4"), ("pi_3", "evt_3a"), ("pi_1", "evt_1"), ("pi_3", "evt_3b")],
        *[("pi_5", None), ("pi_5", None), (None, "evt_6"), ("pi_1", "evt_1")],
    ]
    told = ", ".join(
        f"({number}, {_text(payment)}, {_text(event)}, '{(DAY + timedelta(hours=number)).replace(tzinfo=None)}')"
        for number, (payment, event) in enumerate(rows)
    )
    digest = receipt_digest(INBOX, "stripe", "evt_1").hex()
    for statement in (
        "CREATE TABLE `the orders` (id INT PRIMARY KEY, payment VARCHAR(99), event TEXT, created_at DATETIME)",
        f"INSERT INTO `the orders` VALUES {told}",
        "CREATE TABLE plain (payment VARCHAR(99))",
        f"INSERT INTO landfast_receipt VALUES (x'{digest}', 'h', 1, 'done', NULL, '{DAY:%Y-%m-%d} 03:00:01')",
    ):
        mariadb.execute(statement, database=mariadb_database)
    async with reader_of(ledger) as reader:
        report = await find_duplicates(reader, Asked("the orders", "payment", "event", source="stripe"), inbox=INBOX)
        with pytest.raises(UserError, match="plain has no primary key"):
            await find_duplicates(reader, Asked("plain", "payment"))
        with pytest.raises(UserError, match="there is no table"):
            await find_duplicates(reader, Asked("elsewhere.orders", "payment"))
    (doubled,) = report.doubled
    assert (doubled.value, doubled.event, doubled.count, doubled.keep, doubled.extra) == ("pi_1", "evt_1", 3, 3, (0, 8))
    assert doubled.keep_because == "it was written when its receipt was"
    assert (report.rows, report.doubled_values, report.extra_rows, report.without_value) == (9, 1, 2, 1)
    assert [(one.value, one.count, one.events) for one in report.legitimate] == [("pi_3", 2, 2)]
    assert (report.legitimate_values, report.unclear_values, report.oldest_by) == (1, 1, "created_at")


async def test_the_connection_cannot_write(ledger: Any) -> None:
    with pytest.raises(UserError, match="READ ONLY"):
        async with reader_of(ledger) as reader:
            await reader.fetch("INSERT INTO landfast_kept VALUES (1)")


def _text(value: str | None) -> str:
    return "NULL" if value is None else f"'{value}'"
