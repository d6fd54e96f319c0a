"""What commands show of an event: not what is hidden, unless it is asked for; and stored as it came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from landfast.demo.load import Connection
from landfast.domain.lifecycle import State
from tests.shops import Shop, sqlite_shop, until

CARD = "4242424242424242"
HANDLER = """
@inbox.on("stripe", "payment_intent.succeeded", attempts=1)
async def create_order(event, tx):
    object = event.data["data"]["object"]
    raise ValueError(f"card {object['metadata']['card_number']} iban={object['metadata']['iban']}")
"""


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    shop.settings["LANDFAST_REDACT"] = "iban"
    shop.settings["LANDFAST_APP"] = "shop.py"
    shop.write(HANDLER)
    async with shop.serving() as serve:
        body = shop.sender.payment("evt_1", card_number=CARD, iban="DE89370400440532013000", colour="red")
        connection = Connection(serve.port)
        assert await connection.send(shop.sender.delivery(body)) == 200
        connection.close()
        await until(lambda: shop.count(State.DEAD), 1)
        assert await serve.stop() == 0
    return shop


async def test_a_dead_letter_is_shown_without_what_is_hidden_unless_it_is_asked_for(shop: Shop) -> None:
    hidden = (CARD, "DE89370400440532013000")
    shows = ("events show evt_1", "events show evt_1 --json", "dead show evt_1 --json")
    for command in (*shows, "dead list", "dead summary --json"):
        code, out, err = await shop.run(*command.split())
        assert code == 0 and not [text for text in hidden if text in out], command
        assert "show" not in command or ("red" in out and "--reveal" in err)
    code, out, err = await shop.run("events", "show", "evt_1", "--json", "--reveal")
    assert code == 0 and "--reveal" not in err
    shown = json.loads(out)
    assert json.loads(shown["body"])["data"]["object"]["metadata"]["card_number"] == CARD
    assert CARD in shown["history"][-1]["attempts"][0]["message"], "what is stored is what came"
    told = (shop.folder / "serve.log").read_text()
    assert "handler_failed" in told and not [text for text in hidden if text in told]
