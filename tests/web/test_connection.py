"""A connection's life: one request after the other, deadlines, half-closed and vanished clients."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable
from typing import Any, cast

import pytest

from landfast.domain.answer import Answer
from landfast.domain.census import SourceTally
from landfast.intake.receive import Admitted, Answered
from landfast.web.health import HEALTHY
from landfast.web.http import connections, protocol
from landfast.web.http.connections import Limits
from landfast.web.http.protocol import Connection
from landfast.web.http.responses import render
from tests.intake.desk import Desk, body, source
from tests.patience import PATIENCE_SECONDS
from tests.web.client import Client, Shop, in_chunks

HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
OpenShop = Callable[..., Any]

GENERAL = "/in/stripe?any"
"""With a query a request is no ordinary one."""


async def test_health_is_answered_without_a_store(shop: Shop) -> None:
    client = await shop.connect()
    reply = await client.ask(HEALTH)
    assert (reply.status, json.loads(reply.body)) == (200, {"status": "ok"})
    assert reply.headers["x-content-type-options"] == "nosniff"
    await client.send(HEALTH.replace(b"GET", b"HEAD"))
    reply = await client.reply(is_head=True)
    assert reply.headers["content-length"] == "15"
    assert shop.desk.tally.totals() == {}


@pytest.mark.parametrize("method", ["HEAD", "GET", "OPTIONS"])
async def test_a_source_takes_post_only(shop: Shop, method: str) -> None:
    client = await shop.connect()
    await client.send(f"{method} /in/stripe HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    reply = await client.reply(is_head=method == "HEAD")
    assert reply.status == 405 and reply.headers["allow"] == "POST"
    assert await client.rest() == b""


@pytest.mark.req("R3", "R5")
async def test_a_connection_is_kept_for_the_next_request(shop: Shop) -> None:
    client = await shop.connect()
    statuses = [json.loads((await client.ask(shop.post(body(n)))).body)["status"] for n in (1, 2, 1)]
    assert statuses == ["stored", "stored", "duplicate"]
    assert shop.desk.count() == SourceTally(3, 2, 1, 0)


@pytest.mark.parametrize("line", ["Connection: close", "Connection: keep-alive, Close"])
async def test_a_client_that_wants_to_close_is_closed(shop: Shop, line: str) -> None:
    client = await shop.connect()
    reply = await client.ask(shop.post(body(), line))
    assert reply.status == 200 and reply.closes
    assert await client.rest() == b""


async def test_http_1_0_is_served_without_host_and_without_keep_alive(shop: Shop) -> None:
    client = await shop.connect()
    request = shop.post(body(), "Connection: keep-alive").replace(b"HTTP/1.1\r\nHost: shop.example", b"HTTP/1.0")
    reply = await client.ask(request)
    assert reply.status == 200 and reply.closes
    assert await client.rest() == b""


async def test_pipelined_requests_are_answered_in_order_one_at_a_time(shop: Shop) -> None:
    shop.desk.recorder.gate.clear()
    client = await shop.connect()
    await client.send(shop.post(body(1)) + shop.post(body(2)) + HEALTH + shop.post(body(1)))
    await shop.desk.recorder.entered.wait()
    assert shop.desk.count().received == 1
    shop.desk.recorder.gate.set()
    replies = [json.loads((await client.reply()).body)["status"] for _ in range(4)]
    assert replies == ["stored", "stored", "ok", "duplicate"]


async def test_what_comes_before_the_answer_is_left_in_the_kernel(shop: Shop) -> None:
    shop.desk.recorder.gate.clear()
    client = await shop.connect()
    await client.send(shop.post(body(1)))
    await shop.desk.recorder.entered.wait()
    connection = await shop.server_side()
    for n in range(2, 40):
        client.writer.write(shop.post(body(n)))
        await asyncio.sleep(0)
    await shop.until(lambda: connection._is_paused)
    shop.desk.recorder.gate.set()
    assert [(await client.reply()).status for _ in range(39)] == [200] * 39
    assert len(shop.desk.recorder.events) == 39


@pytest.mark.usefixtures("patient")
async def test_a_client_that_does_not_read_is_not_served_on_and_in_the_end_cut_off(shop: Shop) -> None:
    client, connection = await shop.connect_narrow()
    await _flood(client, connection)
    assert connection._is_choked
    shop.pass_time(75)
    shop.pass_time(2)
    await shop.until(lambda: not shop.server.connections.open)


async def test_requests_that_came_together_are_left_unserved_while_the_client_does_not_read(shop: Shop) -> None:
    client, connection = await shop.connect_narrow()
    served: list[bytes] = []
    real = connection._transport
    connection._transport = cast("asyncio.Transport", _Narrow(connection, served))
    connection.data_received(HEALTH * 10)
    assert len(served) == 1 and connection._buffer == HEALTH * 9
    connection.resume_writing()
    assert len(served) == 2 and connection._buffer == HEALTH * 8
    connection._transport = real
    client.abort()


async def test_who_does_not_read_an_answer_has_as_long_for_it_as_for_a_request(shop: Shop) -> None:
    client, connection = await shop.connect_narrow()
    real = connection._transport
    connection._transport = cast("asyncio.Transport", _Narrow(connection, []))
    connection.data_received(HEALTH)
    assert connection.deadline == shop.time.now + Limits().request_seconds
    connection.resume_writing()
    assert connection.deadline == shop.time.now + Limits().idle_seconds
    connection._transport = real
    client.abort()


class _Narrow:
    """A transport that has had enough after every write."""

    def __init__(self, connection: Connection, served: list[bytes]) -> None:
        self._connection = connection
        self._served = served

    def write(self, data: bytes) -> None:
        self._served.append(data)
        self._connection.pause_writing()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that answers whoever never reads, as long as there is room for the answers."""
    monkeypatch.setattr(protocol, "PIPELINED_TURNS_AT_MOST", 10**9)
    monkeypatch.setattr(connections, "TURNS_AT_A_TIME", 10**3)


@pytest.mark.usefixtures("patient")
async def test_a_client_that_reads_late_gets_every_answer(shop: Shop) -> None:
    client, connection = await shop.connect_narrow()
    missing = await _flood(client, connection) * len(render(HEALTHY, closes=False))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while missing > 0 and (answers := await client.reader.read(100_000)):
            missing -= len(answers)
    assert missing == 0
    await shop.until(lambda: not connection._is_choked)


async def _flood(client: Client, connection: Connection) -> int:
    """Send requests until the server wants no more of them; how many."""
    count = 0
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not connection._is_choked:
            if not client.writer.transport.get_write_buffer_size():  # else it would have to read all that is in there
                client.writer.write(HEALTH * 50)
                count += 50
            await asyncio.sleep(0)
    return count


async def test_continue_is_said_only_after_the_head_was_admitted(shop: Shop) -> None:
    client = await shop.connect()
    head, content = shop.post(body(), "Expect: 100-continue").split(b"\r\n\r\n", 1)
    assert (await client.ask(head + b"\r\n\r\n")).status == 100
    assert (await client.ask(content)).status == 200
    refused = await shop.connect()
    reply = await refused.ask(head.replace(b"/in/stripe", b"/in/nobody") + b"\r\n\r\n")
    assert reply.status == 404 and reply.closes


async def test_continue_is_not_said_when_the_body_is_coming_already(shop: Shop) -> None:
    client = await shop.connect()
    request = shop.post(body(), "Expect: 100-continue")
    await client.send(request[:-10])
    await shop.until(lambda: shop.desk.unproven.total > 0)
    assert (await client.ask(request[-10:])).status == 200


async def test_an_early_refusal_is_seen_although_the_client_is_still_sending(shop: Shop) -> None:
    client = await shop.connect()
    request = shop.post(body(), length=1_000_000).replace(b"/in/stripe", b"/in/nobody")
    await client.send(request)
    reply = await client.reply()
    assert reply.status == 404 and reply.closes
    await client.send(b"x" * 10_000)
    assert await client.rest() == b""
    connection = await shop.server_side()
    await shop.until(lambda: connection._lingered == 10_000)
    client.writer.close()
    await shop.until(lambda: not shop.server.connections.open)


async def test_lingering_ends_after_2_seconds_or_64_kib(shop: Shop) -> None:
    for too_long in (True, False):
        client = await shop.connect()
        await client.send(shop.post(body(), length=1_000_000).replace(b"/in/stripe", b"/in/nobody"))
        assert (await client.reply()).status == 404
        if too_long:
            shop.pass_time(1.9)
            assert shop.server.connections.open
            shop.pass_time(0.2)
        else:
            client.writer.write(b"x" * 70_000)
        await shop.until(lambda: not shop.server.connections.open)


async def test_slow_headers_get_408(shop: Shop) -> None:
    client = await shop.connect()
    connection = await shop.server_side()
    await client.send(b"POST /in/stripe HTTP/1.1\r\n")
    await shop.until(lambda: bool(connection._buffer))
    shop.pass_time(6)
    await client.send(b"Host: a\r\n")  # a drip buys no time
    await shop.until(lambda: b"Host" in connection._buffer)
    shop.pass_time(4)
    reply = await client.reply()
    assert reply.status == 408 and reply.closes
    assert await client.rest() == b""
    assert shop.desk.count("") == SourceTally(1, 0, 0, 1)


async def test_a_slow_body_gets_408_and_is_not_stored(shop: Shop) -> None:
    client = await shop.connect()
    await client.send(shop.post(body())[:-10])
    await shop.until(lambda: shop.desk.unproven.total > 0)
    shop.pass_time(9.9)
    assert shop.desk.unproven.total > 0
    shop.pass_time(0.2)
    reply = await client.reply()
    assert reply.status == 408 and reply.closes
    assert shop.desk.count() == SourceTally(1, 0, 0, 1)
    assert shop.desk.unproven.total == 0


async def test_a_large_body_that_keeps_coming_gets_more_time(open_shop: OpenShop) -> None:
    shop = await open_shop(limits=Limits(body_rate=10))
    client = await shop.connect()
    request = shop.post(body())
    await client.send(request[:-10])
    await shop.until(lambda: shop.desk.unproven.total > 0)
    connection = await shop.server_side()
    before = connection.deadline
    shop.pass_time(2)
    await client.send(request[-10:-5])
    await shop.until(lambda: connection.deadline == before + 0.5)
    assert (await client.ask(request[-5:])).status == 200


async def test_an_idle_connection_is_closed_without_a_word(shop: Shop) -> None:
    silent = await shop.connect()
    await shop.server_side()
    shop.pass_time(10)
    assert await silent.rest() == b""
    await shop.until(lambda: not shop.server.connections.open)
    client = await shop.connect()
    assert (await client.ask(HEALTH)).status == 200
    shop.pass_time(74)
    assert (await client.ask(HEALTH)).status == 200
    shop.pass_time(75)
    assert await client.rest() == b""
    assert shop.desk.is_balanced()


async def test_a_request_that_waits_for_its_commit_is_not_timed_out(shop: Shop) -> None:
    shop.desk.recorder.gate.clear()
    client = await shop.connect()
    await client.send(shop.post(body()))
    await shop.desk.recorder.entered.wait()
    shop.pass_time(3600)
    shop.desk.recorder.gate.set()
    assert (await client.reply()).status == 200


@pytest.mark.req("R3")
async def test_a_half_closed_client_is_answered(shop: Shop) -> None:
    shop.desk.recorder.gate.clear()
    client = await shop.connect()
    await client.send(shop.post(body()))
    client.half_close()
    connection = await shop.server_side()
    await shop.until(lambda: connection._is_ended)
    shop.desk.recorder.gate.set()
    reply = await client.reply()
    assert reply.status == 200 and reply.closes
    assert await client.rest() == b""


@pytest.mark.parametrize("cut", [10, 400], ids=["in the body", "in the head"])
async def test_a_request_cut_short_is_never_taken_as_whole(shop: Shop, cut: int) -> None:
    client = await shop.connect()
    request = shop.post(body())
    await client.send(request[:-10] if cut == 10 else request[:50])
    client.half_close()
    reply = await client.reply()
    assert reply.status == 400 and reply.closes
    assert shop.desk.recorder.batches == [] and shop.desk.is_balanced()


async def test_chunks_without_their_end_are_never_taken_as_whole(shop: Shop) -> None:
    client = await shop.connect()
    await client.send(shop.chunked(body(), in_chunks(body())[:-5]))
    client.half_close()
    assert (await client.reply()).status == 400
    assert shop.desk.recorder.batches == []


async def test_a_connection_lost_in_the_body_is_counted_and_not_stored(shop: Shop) -> None:
    client = await shop.connect()
    await client.send(shop.post(body())[:-10])
    await shop.until(lambda: shop.desk.unproven.total > 0)
    _reset(client)
    await shop.until(lambda: not shop.server.connections.open)
    assert shop.desk.count() == SourceTally(1, 0, 0, 1)
    assert shop.desk.unproven.total == 0


@pytest.mark.req("R3")
async def test_a_client_gone_before_its_answer_still_has_its_event_stored(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    shop.desk.recorder.gate.clear()
    client = await shop.connect()
    await client.send(shop.post(body()))
    await shop.desk.recorder.entered.wait()
    _reset(client)
    await shop.until(lambda: not shop.server.connections.open)
    shop.desk.recorder.gate.set()
    await shop.desk.group.close()
    await asyncio.sleep(0)
    assert len(shop.desk.recorder.events) == 1
    assert shop.desk.count() == SourceTally(1, 1, 0, 0)
    assert "Exception in callback" not in caplog.text


async def test_beyond_the_budget_of_unproven_bytes_the_slowest_makes_room_for_a_newcomer(open_shop: OpenShop) -> None:
    shop = await open_shop()
    first = await shop.connect()
    await first.send(shop.post(body())[:-10])
    await shop.until(lambda: shop.desk.unproven.total > 0)
    shop.desk.unproven._most = 2 * shop.desk.unproven.total - 1
    shop.pass_time(1)
    second = await shop.connect()
    await second.send(shop.post(body(2))[:-10])
    reply = await first.reply()
    assert reply.status == 503 and reply.closes and reply.headers["retry-after"] == "5"
    assert (await second.ask(body(2)[-10:])).status == 200
    assert shop.desk.unproven.total == 0 and shop.desk.is_balanced()


async def test_beyond_the_connection_cap_with_everybody_busy_the_answer_is_503(open_shop: OpenShop) -> None:
    shop = await open_shop(limits=Limits(connections=1))
    shop.desk.recorder.gate.clear()
    first = await shop.connect()
    await first.send(shop.post(body()))
    await shop.desk.recorder.entered.wait()
    second = await shop.connect()
    assert (await second.reply()).status == 503
    assert await second.rest() == b""
    shop.desk.recorder.gate.set()
    assert (await first.reply()).status == 200


async def test_a_bug_is_answered_500_with_fixed_text_and_no_trace(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "landfast")

    def broken(*_: object) -> None:
        raise ZeroDivisionError("inside")

    client = await shop.connect()
    with monkeypatch.context() as patch:
        patch.setattr(shop.desk.intake, "receive", broken)
        reply = await client.ask(shop.post(body(), path=GENERAL))
    assert reply.status == 500 and reply.closes and b"inside" not in reply.body
    assert "inside" in caplog.text
    client = await shop.connect()
    with monkeypatch.context() as patch:
        patch.setattr(shop.desk.intake.ordinary, "take", broken)
        reply = await client.ask(shop.post(body()))
    assert reply.status == 500 and reply.closes and b"inside" not in reply.body
    client = await shop.connect()
    with monkeypatch.context() as patch:
        patch.setattr(shop.desk.intake, "_admit", broken)
        assert (await client.ask(shop.post(body(), path=GENERAL))).status == 500
    assert (await client.ask(shop.post(body()))).status == 200


async def test_an_answer_that_cannot_be_sent_is_a_500_and_counted_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive = shop.desk.intake.receive

    def impossible(admitted: Admitted, content: bytes, answered: Answered) -> Answer:
        receive(admitted, content, lambda _: None)
        return Answer(299, b"")

    monkeypatch.setattr(shop.desk.intake, "receive", impossible)
    client = await shop.connect()
    assert (await client.ask(shop.post(body(), path=GENERAL))).status == 500
    await shop.desk.group.close()
    assert shop.desk.is_balanced() and shop.desk.count() == SourceTally(1, 1, 0, 0)


async def test_while_the_inbox_is_away_the_connection_lives_on(shop: Shop) -> None:
    shop.desk.recorder.is_down = True
    client = await shop.connect()
    reply = await client.ask(shop.post(body()))
    assert reply.status == 503 and reply.headers["retry-after"] == "5" and not reply.closes
    shop.desk.recorder.is_down = False
    assert (await client.ask(shop.post(body()))).status == 200
    assert shop.desk.count() == SourceTally(2, 1, 0, 1)


async def test_a_large_body_is_stored_byte_for_byte(open_shop: OpenShop) -> None:
    shop = await open_shop(desk=Desk(sources=(source(body_limit=8_000_000),)))
    large = b'{"id":"evt_large","type":"big","filler":"' + bytes(range(256)) * 20_000 + b'"}'
    client = await shop.connect()
    assert (await client.ask(shop.post(large))).status == 200
    assert (await client.ask(shop.chunked(large, in_chunks(large, 60_000)))).status == 200
    (stored,) = shop.desk.recorder.events.values()
    assert stored.body == large
    assert shop.desk.count() == SourceTally(2, 1, 1, 0)


@pytest.mark.req("R5", "R6")
async def test_many_connections_with_one_event_make_one(shop: Shop) -> None:
    clients = await asyncio.gather(*(shop.connect() for _ in range(50)))
    replies = await asyncio.gather(*(client.ask(shop.post(body())) for client in clients))
    assert {reply.status for reply in replies} == {200}
    assert len(shop.desk.recorder.events) == 1
    assert shop.desk.count() == SourceTally(50, 1, 49, 0)


def _reset(client: Client) -> None:
    sock = client.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.abort()
