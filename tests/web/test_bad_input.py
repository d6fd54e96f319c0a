"""The table "bad input and its answer", byte for byte over a real socket."""

from __future__ import annotations

import pytest

from tests.web.client import Shop
from tests.web.hostile import BODY, CLOSED, FINE, KEPT, ODD_BODIES, Build


@pytest.mark.parametrize(("build", "status"), CLOSED.values(), ids=CLOSED.keys())
async def test_a_request_that_cannot_be_trusted_is_answered_and_the_connection_closed(
    shop: Shop, build: Build, status: int
) -> None:
    client = await shop.connect()
    reply = await client.ask(build(shop))
    assert (reply.status, reply.closes) == (status, True)
    assert reply.headers["content-type"] == "application/json" and b'"error"' in reply.body
    assert await client.rest() == b""
    assert shop.desk.recorder.batches == []
    assert shop.desk.is_balanced() and sum(t.rejected for t in shop.desk.tally.totals().values()) == 1


@pytest.mark.req("R1")
@pytest.mark.parametrize(("build", "status"), KEPT.values(), ids=KEPT.keys())
async def test_a_well_framed_refusal_is_the_last_answer_to_whoever_has_proved_nothing(
    shop: Shop, build: Build, status: int
) -> None:
    client = await shop.connect()
    reply = await client.ask(build(shop))
    assert (reply.status, reply.closes) == (status, True)
    assert shop.desk.recorder.batches == []
    assert shop.desk.is_balanced()
    assert await client.rest() == b""


@pytest.mark.req("R3", "R12")
@pytest.mark.parametrize("build", FINE.values(), ids=FINE.keys())
@pytest.mark.parametrize("step", [0, 1, 7], ids=["in one piece", "byte by byte", "in pieces of 7"])
async def test_a_genuine_request_is_stored_byte_for_byte_however_it_arrives(
    shop: Shop, build: Build, step: int
) -> None:
    client = await shop.connect()
    request = build(shop)
    if step:
        # Straight into the protocol, because the kernel would join small pieces again.
        server_side = await shop.server_side()
        for at in range(0, len(request), step):
            server_side.data_received(request[at : at + step])
    else:
        await client.send(request)
    reply = await client.reply()
    assert reply.status == 200 and not reply.closes
    (stored,) = shop.desk.recorder.events.values()
    assert stored.body == BODY
    assert shop.desk.unproven.total == 0


@pytest.mark.req("R3")
@pytest.mark.parametrize("content", ODD_BODIES.values(), ids=ODD_BODIES.keys())
async def test_whatever_was_signed_is_stored_byte_for_byte_and_once(shop: Shop, content: bytes) -> None:
    client = await shop.connect()
    replies = [await client.ask(shop.post(content)) for _ in range(2)]
    assert [(reply.status, reply.closes) for reply in replies] == [(200, False)] * 2
    assert b"duplicate" in replies[1].body
    (stored,) = shop.desk.recorder.events.values()
    assert stored.body == content
