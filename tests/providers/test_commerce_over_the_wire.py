"""The handshakes of payments and shops through the running server: the bytes that each provider would see."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import AsyncIterator

import pytest

from landfast.intake.source import Source
from landfast.providers import provider
from landfast.providers.signing import sample, signed_request
from tests.intake.desk import Desk
from tests.providers.keypairs import our_secrets, sender_secret
from tests.web.client import Shop

URL = "https://hooks.example.com/in/"
TOKEN = "a token that was given to the sender"
INTENT = b'{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"LANDFASTENTROPY"}'


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    profiles = [
        provider("xero"),
        provider("onfleet"),
        provider("woocommerce"),
        provider("ebay", verification_token=TOKEN),
        provider("braintree", public_key="our_key"),
    ]
    sources = (Source(each.name, each, our_secrets(each), public_url=URL + each.name) for each in profiles)
    shop = Shop(desk=Desk(sources=tuple(sources)))
    await shop.open()
    yield shop
    await shop.close()


async def sent(shop: Shop, line: str, headers: dict[str, str] | None = None, body: bytes = b"") -> tuple[int, bytes]:
    """The status and the body of the answer."""
    lines = [f"{line} HTTP/1.1", "Host: shop.example", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    client = await shop.connect()
    await client.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    head, _, answer = (await client.rest()).partition(b"\r\n\r\n")
    assert b"set-cookie" not in head.lower()
    return int(head.split()[1]), answer


async def signed(shop: Shop, name: str, body: bytes) -> tuple[int, bytes]:
    draft = signed_request(name, body, sender_secret(name), now=shop.desk.clock.now().timestamp(), url=URL + name)
    return await sent(shop, f"POST /in/{name}", draft.headers, draft.body)


async def test_xero_reads_nothing_but_200_for_its_intent_for_an_event_and_for_the_same_again(shop: Shop) -> None:
    assert await signed(shop, "xero", INTENT) == (200, b"")
    assert not shop.desk.recorder.events
    for _ in range(2):
        assert await signed(shop, "xero", sample("xero")) == (200, b"")
    assert len(shop.desk.recorder.events) == 1
    assert shop.desk.is_balanced()


async def test_xero_reads_401_for_an_intent_that_it_signed_wrongly(shop: Shop) -> None:
    status, _ = await sent(shop, "POST /in/xero", {"x-xero-signature": "A" * 43 + "="}, INTENT)
    assert status == 401


async def test_onfleet_reads_what_it_asked_to_be_told(shop: Shop) -> None:
    assert await sent(shop, "GET /in/onfleet?check=c0ffee") == (200, b"c0ffee")


async def test_ebay_reads_the_digest_of_challenge_token_and_url(shop: Shop) -> None:
    status, answer = await sent(shop, "GET /in/ebay?challenge_code=1001")
    digest = hashlib.sha256(f"1001{TOKEN}{URL}ebay".encode()).hexdigest()
    assert (status, json.loads(answer)) == (200, {"challengeResponse": digest})


async def test_braintree_reads_its_key_and_the_proof_of_ours(shop: Shop) -> None:
    challenge = "5ea1ce00f77439fe955c977e4c8a5301"
    key = hashlib.sha1(sender_secret("braintree").encode()).digest()
    proof = hmac.new(key, challenge.encode(), hashlib.sha1).hexdigest()
    answer = await sent(shop, f"GET /in/braintree?bt_challenge={challenge}")
    assert answer == (200, f"our_key|{proof}".encode())


async def test_the_ping_of_woocommerce_reads_200_and_leaves_nothing(shop: Shop) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}
    assert await sent(shop, "POST /in/woocommerce", kind, b"webhook_id=12") == (200, b"")
    assert not shop.desk.recorder.events
    assert shop.desk.is_balanced()
