"""`landfast prove --event`: with an event that came in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_events_export import BODIES, fill, settings

SHOP = """
import uuid
from landfast import Inbox

inbox = Inbox()

@inbox.on("shop", "order.paid")
async def create_order(event, tx):
    await tx.execute("CREATE TABLE IF NOT EXISTS orders (key TEXT, amount INTEGER, note TEXT)")
    note = str(uuid.uuid4()) if event.data["amount"] == 8999 else ""
    await tx.execute("INSERT INTO orders VALUES ($1, $2, $3)", event.key, event.data["amount"], note)

@inbox.on("shop", "order.refunded")
async def refund(event, tx):
    raise AssertionError("not of this event")
"""


@pytest.mark.req("R64")
def test_a_handler_is_proven_with_an_event_that_came_in(
    landfast: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = {
        key: json.dumps({"id": key, "type": "order.paid", "amount": int(key[4:])}) for key in ("evt_8999", "evt_1")
    }
    for key, body in bodies.items():
        monkeypatch.setitem(BODIES, key, body.encode())
    settings(folder, "there")
    fill(*bodies)
    (folder / "shop.py").write_text(SHOP)
    bad = landfast("prove", "shop:inbox", "--event", "evt_8999", "--json")
    (report,) = json.loads(bad.out)
    assert (bad.code, report["handler"], report["type"]) == (1, "create_order", "order.paid"), bad.err
    assert [finding["kind"] for finding in report["findings"]] == ["chance"], report
    good = landfast("prove", "shop:inbox", "create_order", "--event", "shop/evt_1")
    assert (good.code, good.out.rstrip().endswith("ok")) == (0, True), good.out + good.err
    missing = landfast("prove", "shop:inbox", "--event", "evt_none")
    assert missing.code == 1 and "no event 'evt_none'" in missing.err
