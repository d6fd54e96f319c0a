"""docs/howto/mysql.md is played as it is written, on a real MariaDB: five deliveries, one order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from landfast.testing.tester import InboxTester
from tests.docs.blocks import ROOT, blocks
from tests.mariadb import MariaDb

PAGE = ROOT / "docs/howto/mysql.md"
ADDRESS = "mysql+aiomysql://shop:secret@localhost/shop"


async def test_five_deliveries_make_one_order(
    mariadb: MariaDb, mariadb_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", "whsec_" + "a" * 32)
    (text,) = [block.text for block in blocks(PAGE) if block.kind == "python"]
    assert ADDRESS in text
    names: dict[str, Any] = {"__name__": "shop"}
    code = text.replace(ADDRESS, mariadb.url(mariadb_database, driver="aiomysql"))
    exec(compile(code, str(PAGE), "exec", dont_inherit=True), names)
    async with names["engine"].begin() as connection:
        await connection.run_sync(names["Base"].metadata.create_all)
    await names["engine"].dispose()
    tester = InboxTester(names["inbox"], tmp_path, ledger="configured")
    for _ in range(5):
        await tester.deliver("stripe", "payment_intent.succeeded", id="evt_1")
    await tester.drain()
    await tester.assert_handled_once("create_order")
    assert mariadb.execute("SELECT count(*) FROM orders", database=mariadb_database) == [(1,)]
