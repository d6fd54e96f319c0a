"""What one connection may make us keep: found by the fuzzer, kept as cases of their own."""

from __future__ import annotations

import asyncio

import pytest

from landfast.domain.census import SourceTally
from landfast.web.http.framing import HEAD_LIMIT
from tests.intake.desk import body
from tests.web.client import Shop

READ_AT_MOST = 256 * 1024
"""Bytes that uvloop and asyncio read at once."""

HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize(
    "broken", [b"xyz\r\n", b"fffff\r\n", b"0\r\nnonsense\r\n\r\n"], ids=["size", "limit", "trailer"]
)
async def test_a_refusal_among_chunks_gives_back_exactly_what_was_taken(shop: Shop, broken: bytes) -> None:
    """All in one read: the budget of arriving bodies would else grow with each such request, and bound nothing."""
    client = await shop.connect()
    reply = await client.ask(shop.chunked(body(), b"1000\r\n" + b"x" * 0x1000 + b"\r\n" + broken))
    assert reply.status in {400, 413} and reply.closes
    assert shop.desk.unproven.total == 0
    assert shop.desk.count() == SourceTally(1, 0, 0, 1)


async def test_an_answer_lets_in_no_more_than_its_request_took(shop: Shop) -> None:
    """Two megabytes of new events on one connection, sent without waiting for any answer."""
    client = await shop.connect()
    connection = await shop.server_side()
    count = 400
    client.writer.write(b"".join(shop.post(body(number), f"X-Note: {'x' * 4_000}") for number in range(count)))
    held = 0
    for _ in range(count):
        assert (await client.reply()).status == 200
        held = max(held, len(connection._buffer))
    assert held <= 2 * READ_AT_MOST + HEAD_LIMIT
    assert shop.desk.count() == SourceTally(count, count, 0, 0)


async def test_a_client_that_reads_slowly_is_not_read_faster_than_it_is_served(shop: Shop) -> None:
    """Nobody has to sign anything for this one."""
    client, connection = await shop.connect_narrow()
    client.writer.write(HEALTH * 60_000)
    held = 0
    for _ in range(2_000):
        await client.reader.read(500)
        held = max(held, len(connection._buffer))
        await asyncio.sleep(0)
    assert held <= 2 * READ_AT_MOST + HEAD_LIMIT


async def test_a_refusal_behind_an_answer_is_seen_although_the_client_is_still_sending(shop: Shop) -> None:
    shop.desk.recorder.gate.clear()
    client = await shop.connect()
    connection = await shop.server_side()
    await client.send(shop.post(body()))
    await shop.desk.recorder.entered.wait()
    await client.send(b"nonsense\r\n\r\n")
    await shop.until(lambda: connection._is_paused)
    shop.desk.recorder.gate.set()
    assert [(await client.reply()).status for _ in range(2)] == [200, 400]
    await client.send(b"x" * 5_000)
    await shop.until(lambda: connection._lingered == 5_000)
