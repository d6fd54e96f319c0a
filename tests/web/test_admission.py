"""Who is let in, over real connections: addresses, proxies, HTTPS, rates, and room for the next one."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from landfast import Inbox
from landfast.domain.census import SourceTally
from landfast.domain.readiness import Readiness
from landfast.intake.source import Source
from landfast.testing.clock import SeededChance
from landfast.testing.signing import sign
from landfast.web.asgi import asgi_app
from landfast.web.http.connections import PLACES_AT_A_TIME, SWEPT_CONNECTIONS, Limits
from landfast.web.http.listener import listen
from landfast.web.http.server import HttpServer
from tests.intake.desk import SECRET, Desk, body, source
from tests.web.client import Client, Reply, Shop

OpenShop = Callable[..., Any]
HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
READY = b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n"
FORWARDED = "X-Forwarded-For: 192.0.2.7"


async def ask(shop: Shop, request: bytes, *, sender: str = "127.0.0.1") -> Reply:
    """The whole loopback network is this machine: a sender may have any address in it."""
    client = await shop.connect(local_addr=(sender, 0))
    return await client.ask(request)


def desk_of(*sources: Source, **rules: Any) -> Desk:
    return Desk(sources=sources or (source(), source("other")), rules=rules)


@pytest.mark.req("R11")
async def test_an_address_outside_of_the_allow_list_gets_a_403_that_says_nothing(open_shop: OpenShop) -> None:
    shop = await open_shop(desk=desk_of(replace(source(), allow_from=("127.0.0.2/31", "::1")), source("other")))
    assert (await ask(shop, shop.post(body()), sender="127.0.0.3")).status == 200
    refused = await ask(shop, shop.post(body(2)))
    assert (refused.status, json.loads(refused.body)) == (403, {"error": "not allowed from here"})
    assert (await ask(shop, shop.post(body(3), path="/in/other"))).status == 200, "another source has no list"
    assert shop.desk.count() == SourceTally(2, 1, 0, 1)


@pytest.mark.req("R11")
async def test_a_forwarded_address_from_anybody_but_a_trusted_proxy_changes_nothing(open_shop: OpenShop) -> None:
    limited = replace(source(), allow_from=("192.0.2.0/24",))
    shop = await open_shop(desk=desk_of(limited, trusted_proxies=["127.0.0.9"]))
    assert (await ask(shop, shop.post(body(), FORWARDED))).status == 403
    assert (await ask(shop, shop.post(body(), FORWARDED), sender="127.0.0.9")).status == 200
    behind_a_stranger = shop.post(body(2), f"{FORWARDED}, 203.0.113.5")
    assert (await ask(shop, behind_a_stranger, sender="127.0.0.9")).status == 403
    assert (await ask(shop, shop.post(body(2)), sender="127.0.0.9")).status == 403, "the proxy itself is not allowed"
    assert len(shop.desk.recorder.events) == 1


@pytest.mark.req("R11")
async def test_without_trusted_proxies_no_header_is_believed(open_shop: OpenShop) -> None:
    shop = await open_shop(desk=desk_of(replace(source(), allow_from=("127.0.0.1",)), https_only=True))
    reply = await ask(shop, shop.post(body(), FORWARDED, "X-Forwarded-Proto: https"))
    assert (reply.status, json.loads(reply.body)) == (403, {"error": "use https"})


@pytest.mark.req("R11")
async def test_https_only_behind_a_proxy(open_shop: OpenShop) -> None:
    shop = await open_shop(desk=desk_of(https_only=True, trusted_proxies=["127.0.0.9"]))
    secure = shop.post(body(), "X-Forwarded-Proto: https")
    assert (await ask(shop, secure, sender="127.0.0.9")).status == 200
    plain = shop.post(body(2), "X-Forwarded-Proto: http")
    for refused in (await ask(shop, plain, sender="127.0.0.9"), await ask(shop, secure)):
        assert (refused.status, json.loads(refused.body)) == (403, {"error": "use https"})
    assert (await ask(shop, HEALTH)).status == 200, "whoever asks after us brings no secret"


@pytest.mark.req("R11")
async def test_tls_of_our_own_is_https(open_shop: OpenShop) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    shop = await open_shop(tls=context, desk=desk_of(https_only=True))
    client = await shop.connect(ssl=trusting)
    assert (await client.ask(shop.post(body()))).status == 200


@pytest.mark.req("R11")
async def test_an_ipv6_address_is_matched_as_one() -> None:
    desk = desk_of(replace(source(), allow_from=("::1/128",)), replace(source("other"), allow_from=("2001:db8::/32",)))
    signed = sign("stripe", body(), SECRET, now=desk.clock.now().timestamp())
    server = HttpServer(desk.intake)
    listener = listen("::1", 0)
    port = listener.getsockname()[1]
    await server.start(listener)
    statuses = []
    for path in ("/in/stripe", "/in/other"):
        client = Client(*await asyncio.open_connection("::1", port))
        lines = [f"POST {path} HTTP/1.1", "Host: a", f"Content-Length: {len(body())}"]
        lines += [f"{name}: {value}" for name, value in signed.items()]
        statuses.append((await client.ask("\r\n".join(lines).encode() + b"\r\n\r\n" + body())).status)
        client.abort()
    await server.stop()
    assert statuses == [200, 403]


@pytest.mark.req("R11")
async def test_a_source_beyond_its_rate_gets_429_with_retry_after_and_another_source_does_not(
    open_shop: OpenShop,
) -> None:
    limited = replace(source(), rate=5.0)
    shop = await open_shop(desk=desk_of(limited, source("other"), chance=SeededChance(3)))
    client = await shop.connect()
    replies = [await client.ask(shop.post(body(number))) for number in range(8)]
    assert [reply.status for reply in replies] == [200] * 5 + [429] * 3
    assert all(int(reply.headers["retry-after"]) in range(1, 31) for reply in replies[5:])
    assert {(await client.ask(shop.post(body(n), path="/in/other"))).status for n in range(20)} == {200}
    shop.desk.clock.advance(0.4)
    assert [(await client.ask(shop.post(body(n)))).status for n in (5, 6, 7)] == [200, 200, 429]
    assert shop.desk.count() == SourceTally(11, 7, 0, 4)


@pytest.mark.req("R11")
async def test_a_strangers_flood_uses_up_nothing_of_a_sources_rate(open_shop: OpenShop) -> None:
    shop = await open_shop(desk=desk_of(replace(source(), rate=2.0, key_rate=1.0)))
    sender = await shop.connect()
    forged, unsigned = shop.post(body(), secret="not ours"), shop.post(body()).replace(b"Stripe-Signature", b"X-None")
    for number in range(50):
        assert (await ask(shop, forged if number % 2 else unsigned)).status == 401
    assert (await sender.ask(shop.post(body(1)))).status == 200
    assert (await sender.ask(shop.post(body(2)))).status == 200
    assert (await sender.ask(shop.post(body(3)))).status == 429, "void: there is no limit"


@pytest.mark.req("R11")
async def test_in_an_overload_the_body_is_not_even_asked_for(open_shop: OpenShop) -> None:
    shop = await open_shop(desk=desk_of(most=1, chance=SeededChance(5)))
    shop.desk.recorder.gate.clear()
    first = await shop.connect()
    await first.send(shop.post(body()))
    await shop.desk.recorder.entered.wait()
    waits = set()
    for number in range(2, 12):
        request = shop.post(body(number), "Expect: 100-continue")
        reply = await ask(shop, request.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
        assert reply.status == 503 and reply.closes
        waits.add(reply.headers["retry-after"])
    assert len(waits) > 3, "not all of them at the same moment"
    shop.desk.recorder.gate.set()
    assert (await first.reply()).status == 200
    assert (await ask(shop, shop.post(body(2)))).status == 200


async def test_a_first_byte_that_comes_late_buys_a_new_connection_no_time(shop: Shop) -> None:
    client = await shop.connect()
    connection = await shop.server_side()
    shop.pass_time(9)
    await client.send(shop.post(body())[:-10])
    await shop.until(connection._is_midway)
    shop.pass_time(1.1)
    assert (await client.reply()).status == 408


async def test_on_a_used_connection_a_request_has_all_of_its_time(shop: Shop) -> None:
    client = await shop.connect()
    assert (await client.ask(HEALTH)).status == 200
    for request in (shop.post(body())[:20], shop.post(body())[:-10]):  # in its head, and at once in its body
        connection = await shop.server_side()
        shop.pass_time(74)
        await client.send(request)
        await shop.until(connection._is_midway)
        shop.pass_time(9.9)
        assert (await client.ask(shop.post(body())[len(request) :])).status == 200


async def test_one_that_does_not_read_its_answers_is_cut_off_after_as_long(shop: Shop) -> None:
    client, connection = await shop.connect_narrow()
    while not connection._is_paused:
        client.writer.write(HEALTH * 50)
        await asyncio.sleep(0)
    shop.pass_time(10)
    shop.pass_time(2)
    await shop.until(lambda: not shop.server.connections.open)


async def test_a_slow_connection_makes_room_before_an_idle_one(open_shop: OpenShop) -> None:
    shop = await open_shop(limits=Limits(connections=3))
    idle = await shop.connect()
    assert (await idle.ask(HEALTH)).status == 200
    slow, silent = await shop.connect(), await shop.connect()
    await shop.until(lambda: len(shop.server.connections.open) == 3)
    await slow.send(shop.post(body(1))[:-10])
    await shop.until(lambda: shop.desk.unproven.total > 0)
    shop.time.now += 1
    assert (await ask(shop, shop.post(body(2)))).status == 200
    assert (await ask(shop, shop.post(body(3)))).status == 200
    reply = await slow.reply()
    assert reply.status == 503 and reply.closes and "retry-after" in reply.headers
    assert await silent.rest() == b""
    assert (await idle.ask(HEALTH)).status == 200
    assert shop.desk.unproven.total == 0 and shop.desk.is_balanced()


async def test_the_longest_idle_one_makes_room_and_one_that_is_being_answered_never(open_shop: OpenShop) -> None:
    shop = await open_shop(limits=Limits(connections=3))
    clients = [await shop.connect() for _ in range(3)]
    for client in clients:
        assert (await client.ask(HEALTH)).status == 200
        shop.time.now += 1
    shop.desk.recorder.gate.clear()
    await clients[0].send(shop.post(body()))
    await shop.desk.recorder.entered.wait()
    assert (await ask(shop, HEALTH)).status == 200
    assert await clients[1].rest() == b""
    assert (await clients[2].ask(HEALTH)).status == 200
    shop.desk.recorder.gate.set()
    assert (await clients[0].reply()).status == 200


async def test_a_crowd_of_slow_connections_leaves_room_for_every_good_one(open_shop: OpenShop) -> None:
    shop = await open_shop(limits=Limits(connections=PLACES_AT_A_TIME * 2))
    connections = shop.server.connections
    for _ in range(5):
        crowd = [await shop.connect() for _ in range(PLACES_AT_A_TIME)]
        for client in crowd:
            await client.send(b"POST /in/stripe HTTP/1.1\r\nX-Slow: ")
        assert (await ask(shop, shop.post(body()))).status == 200
        await shop.until(lambda: len(connections.open) <= PLACES_AT_A_TIME * 2)
    assert not connections._expelled


async def test_when_thousands_are_late_together_others_get_their_turn_between(shop: Shop) -> None:
    assert shop.server._sweeping is not None
    shop.server._sweeping.cancel()  # it would sweep between two looks of ours
    clients = [await shop.connect() for _ in range(SWEPT_CONNECTIONS + 5)]
    await shop.until(lambda: len(shop.server.connections.open) == len(clients))
    shop.time.now += 10
    assert shop.server.connections.sweep(shop.time.now) is True
    await shop.until(lambda: len(shop.server.connections.open) == 5)
    assert shop.server.connections.sweep(shop.time.now) is False
    await shop.until(lambda: not shop.server.connections.open)


TOML = """
https_only = true
trusted_proxies = ["10.0.0.0/8"]
[sources.stripe]
provider = "stripe"
secrets = ["whsec_of_the_settings_file"]
allow_from = ["192.0.2.0/24", "2001:db8::/32"]
rate = 2
key_rate = 1
"""


@pytest.mark.req("R11")
async def test_what_is_set_in_the_file_is_what_holds(tmp_path: Path) -> None:
    (tmp_path / "landfast.toml").write_text(TOML)
    inbox = Inbox(tmp_path / "landfast.toml", store=str(tmp_path / "a.db"), ledger=str(tmp_path / "b.db"))

    async def post(number: int, peer: str, **headers: str) -> int:
        signed = sign("stripe", body(number), "whsec_of_the_settings_file", now=time.time())
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        transport = httpx.ASGITransport(asgi_app(intake), client=(peer, 5000))
        async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
            return (await client.post("/in/stripe", content=body(number), headers=signed | told)).status_code

    async with inbox.intake() as intake:
        sender = {"x_forwarded_for": "2001:db8::7", "x_forwarded_proto": "https"}
        assert await post(1, "192.0.2.7") == 403, "not over https"
        assert await post(1, "203.0.113.5", **sender) == 403, "not through the proxy"
        assert await post(1, "10.0.0.1", **sender) == 200
        assert await post(1, "10.0.0.1", **sender) == 429, "one event"
        assert await post(2, "10.0.0.1", **sender) == 429, "one source"


async def test_ready_says_a_word_about_each_layer_and_health_only_that_we_are_there(shop: Shop) -> None:
    reply = await ask(shop, READY)
    assert (reply.status, json.loads(reply.body)) == (200, {"ready": True})
    shop.desk.intake.ready = lambda: Readiness(is_ready=True, layers={"inbox": "away", "spool": "ok"})
    reply = await ask(shop, READY)
    assert (reply.status, json.loads(reply.body)) == (200, {"ready": True, "inbox": "away", "spool": "ok"})
    shop.desk.intake.ready = lambda: Readiness(is_ready=False, layers={"inbox": "away", "spool": "full"})
    reply = await ask(shop, READY)
    assert (reply.status, json.loads(reply.body)["spool"]) == (503, "full")
    assert (await ask(shop, HEALTH)).status == 200
    assert shop.desk.tally.totals() == {}
