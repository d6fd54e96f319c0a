"""Handshakes, refusals and batches through the running server: the bytes that a provider would see."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.providers import Profile, provider
from landfast.providers.handshake import Handshake
from landfast.providers.schemes.token import TokenScheme
from landfast.providers.signing import signed_request
from tests.intake.desk import Desk
from tests.web.client import Shop

SECRET = Secret("first", b"a secret of the sender, long enough")
HEAD_ONLY = Profile(
    name="made-up", scheme=TokenScheme(token="header:X-Token"), key="body", type="body:type", handshakes=(Handshake(method="HEAD"),)
)  # fmt: skip


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    profiles = {
        "meta": provider("meta", verify_token="ours"),
        "gocardless": provider("gocardless"),
        "made-up": HEAD_ONLY,
    }
    shop = Shop(desk=Desk(sources=tuple(Source(name, profile, (SECRET,)) for name, profile in profiles.items())))
    await shop.open()
    yield shop
    await shop.close()


async def asked(shop: Shop, line: str) -> bytes:
    client = await shop.connect()
    await client.send(f"{line} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n".encode())
    return await client.rest()


async def posted(shop: Shop, body: bytes, *, secret: Secret = SECRET) -> bytes:
    draft = signed_request("gocardless", body, secret, now=shop.desk.clock.now().timestamp())
    lines = ["POST /in/gocardless HTTP/1.1", "Host: shop.example", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in draft.headers.items()]
    client = await shop.connect()
    await client.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    return await client.rest()


async def test_a_get_with_the_right_token_is_answered_as_text_that_no_browser_runs(shop: Shop) -> None:
    reply = await asked(shop, "GET /in/meta?hub.mode=subscribe&hub.challenge=%3Cb%3E1&hub.verify_token=ours")
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ") and body == b"<b>1"
    assert b"content-type: text/plain" in head and head.count(b"nosniff") == 1


async def test_a_get_with_a_wrong_token_is_refused_and_one_to_a_sender_without_handshakes_is_405(shop: Shop) -> None:
    wrong = await asked(shop, "GET /in/meta?hub.mode=subscribe&hub.challenge=1&hub.verify_token=theirs")
    assert wrong.startswith(b"HTTP/1.1 401 ")
    assert (await asked(shop, "GET /in/gocardless")).startswith(b"HTTP/1.1 405 ")
    assert shop.desk.is_balanced()


async def test_a_head_is_answered_without_a_body(shop: Shop) -> None:
    reply = await asked(shop, "HEAD /in/made-up")
    assert reply.startswith(b"HTTP/1.1 200 ") and reply.endswith(b"\r\n\r\n")


async def test_a_wrong_signature_gets_the_status_that_its_sender_asks_for(shop: Shop) -> None:
    assert (await posted(shop, b'{"events":[]}', secret=Secret("wrong", b"wrong"))).startswith(b"HTTP/1.1 498 ")


@pytest.mark.req("R4")
async def test_a_batch_is_stored_as_events_of_their_own_and_an_empty_one_leaves_nothing(shop: Shop) -> None:
    assert json.loads((await posted(shop, b'{"events":[]}')).rpartition(b"\r\n")[2]) == {"status": "empty"}
    assert not shop.desk.recorder.events
    body = b'{"events":[{"id":"EV1","action":"a","resource_type":"r"}, {"id":"EV2"}]}'
    assert b'"stored"' in await posted(shop, body)
    stored = {event.key: event.body for event in shop.desk.recorder.events.values()}
    assert stored == {"EV1": b'{"id":"EV1","action":"a","resource_type":"r"}', "EV2": b'{"id":"EV2"}'}
    assert b'"duplicate"' in await posted(shop, body)
    assert shop.desk.is_balanced()
