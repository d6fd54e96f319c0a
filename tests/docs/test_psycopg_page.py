"""docs/howto/psycopg.md, played: both of its inboxes make one order of a payment that comes twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import asyncpg
import pytest

from landfast.testing.requests import signed, take_in
from landfast.testing.temporary import ShiftedClock, temporary
from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / "docs/howto/psycopg.md"


@pytest.mark.parametrize("name", ["inbox", "blocking_inbox"])
async def test_the_inboxes_of_the_page_work(
    name: str, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", "whsec_documentation_only")
    names: dict[str, Any] = {"__name__": "shop"}
    for block in blocks(PAGE):
        if block.kind == "python":
            exec(compile(block.text, str(block), "exec"), names)
    connection = await asyncpg.connect(database)
    await connection.execute("CREATE TABLE orders (payment_id text, amount int)")
    clock = ShiftedClock()
    copy, pairs = temporary(names[name], tmp_path, clock, ledger=names[name].settings.ledger)
    await copy.migrate()
    async with copy.intake() as intake, copy.worker() as worker:
        request = signed(copy.sources["stripe"], pairs["stripe"], now=clock.now(), type="payment_intent.succeeded")
        for _ in range(2):
            assert (await take_in(intake, request)).status == 200
            await worker.drain()
    assert await connection.fetchval("SELECT count(*) FROM orders") == 1
    await connection.close()
