"""The storm with a shared cache that is emptied in the middle of it, against a real `landfast serve`."""

from __future__ import annotations

from pathlib import Path

import pytest

from landfast.demo.load import Answers, send_all
from landfast.domain.ids import event_id
from landfast.domain.lifecycle import State
from tests.shops import ORDER, sqlite_shop, until
from tests.valkey import Valkey

DELIVERIES = 11_247
FLUSHES = 3
EVENT = "evt_1NqQPbL7xK9"


class Flusher:
    """Empties the server each time that so many deliveries have passed, and remembers what it found there."""

    def __init__(self, server: Valkey) -> None:
        self._server = server
        self._passed = 0
        self.found: list[bytes | None] = []

    async def pass_one(self) -> None:
        self._passed += 1
        if self._passed % (DELIVERIES // (FLUSHES + 1)) == 0 and len(self.found) < FLUSHES:
            self.found.append(self._server.kinds().get(event_id("stripe", EVENT).hex().encode()))
            self._server.ask("FLUSHALL")


@pytest.mark.req("R8", "R50", "R53")
async def test_flushed_in_the_middle_of_11247_deliveries_of_one_event_there_is_one_order(
    tmp_path: Path, server: Valkey
) -> None:
    shop = sqlite_shop(tmp_path)
    shop.write(ORDER)
    shop.settings["LANDFAST_REDIS"] = server.address
    await shop.create_orders()
    answers, flusher = Answers(), Flusher(server)
    async with shop.serving("--intakes", "2") as serve:
        requests = shop.sender.deliveries(shop.sender.payment(EVENT), DELIVERIES)
        await send_all(serve.port, requests, answers=answers, hold=flusher.pass_one)
        await until(lambda: shop.count(State.DONE), 1)
        assert await serve.stop() == 0
    assert flusher.found[0] == b"=", "void: there was nothing to flush"
    assert server.calls("flushall") == FLUSHES
    assert answers.statuses == {200: DELIVERIES}
    assert await shop.orders() == [EVENT]
    async with shop.archive() as archive:
        census = await archive.census()
    assert census.events == 1
    assert census.tallies["stripe"].duplicate == DELIVERIES - 1
    hits = sum(census.meters[f"seen_{layer}_hits"] for layer in ("local", "shared", "inbox"))
    assert hits == DELIVERIES - 1, "each duplicate was known to exactly one layer"
