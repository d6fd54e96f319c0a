"""docs/howto/sqlalchemy.md is played as it is written: five deliveries, one order; and every other block runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from landfast.testing.tester import InboxTester
from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / "docs/howto/sqlalchemy.md"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the page's Python leaves behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", "whsec_" + "a" * 32)
    names: dict[str, Any] = {"__name__": "shop"}
    code = [block.text for block in blocks(PAGE) if block.kind == "python" and not block.reason]
    assert len(code) == 4
    for text in code:
        exec(compile(text, str(PAGE), "exec", dont_inherit=True), names)
    return names


async def test_five_deliveries_make_one_order(written: dict[str, Any], tmp_path: Path) -> None:
    for inbox, file in ((written["inbox"], "shop.db"), (written["flask_inbox"], "flask-shop.db")):
        with closing(sqlite3.connect(file)) as db:
            db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, payment_id TEXT, amount INTEGER)")
        folder = tmp_path / f"{file}.test"
        folder.mkdir()
        tester = InboxTester(inbox, folder, ledger="configured")
        for _ in range(5):
            await tester.deliver("stripe", "payment_intent.succeeded", id="evt_1")
        await tester.drain()
        with closing(sqlite3.connect(file)) as db:
            assert db.execute("SELECT count(*) FROM orders").fetchone() == (1,)


async def test_commit_and_a_savepoint_mean_what_the_page_says(written: dict[str, Any], tmp_path: Path) -> None:
    with closing(sqlite3.connect("shop.db")) as db:
        db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, payment_id TEXT, amount INTEGER)")
        db.execute("INSERT INTO orders VALUES (1, 'there', 1)")
        db.commit()
    folder = tmp_path / "test"
    folder.mkdir()
    tester = InboxTester(written["inbox"], folder, ledger="configured")
    await tester.deliver("stripe", "charge.refunded", id="evt_2")
    await tester.drain()
    with closing(sqlite3.connect("shop.db")) as db:
        assert db.execute("SELECT payment_id, amount FROM orders ORDER BY id").fetchall() == [
            ("there", 1),
            ("evt_2", -1),
        ]
