"""Those who send for others: what is special about each, and their own libraries as a second opinion."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.providers.request import Draft
from tests.intake.desk import Desk
from tests.providers.arrivals import NOW, asked, event, is_refused, sent, with_headers
from tests.providers.keypairs import STANDARD, TEXT
from tests.web.client import Shop

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
ORIGIN = "eventemitter.example.com"


def convoy(content: bytes, hash_: str, encoding: str) -> str:
    digest = hmac.new(TEXT.encode(), content, hash_).digest()
    return digest.hex() if encoding == "hex" else base64.b64encode(digest).decode()


@pytest.mark.req("R1")
@pytest.mark.parametrize("hash_", ["sha256", "sha512"])
@pytest.mark.parametrize("encoding", ["hex", "base64"])
def test_convoy_signs_in_eight_ways(hash_: str, encoding: str) -> None:
    draft = sent("convoy")

    def is_right(header: str) -> bool:
        return not is_refused("convoy", with_headers(draft, {"X-Convoy-Signature": header}))

    simple = convoy(draft.body, hash_, encoding)
    at = int(NOW)
    advanced = convoy(f"{at},".encode() + draft.body, hash_, encoding)
    assert is_right(simple)
    assert is_right(f"t={at},v1={advanced}")
    assert is_right(f"v1={advanced},t={at}")
    assert is_right(f"t={at},v1={convoy(b'another', hash_, encoding)},v1={advanced}")
    assert not is_right(f"t={at},v1={simple}")
    assert not is_right(advanced)
    assert not is_right(f"v1={advanced}")
    assert not is_right(f"t=Infinity,v1={advanced}")
    assert not is_right(f"t={at - 301},v1={convoy(f'{at - 301},'.encode() + draft.body, hash_, encoding)}")


def test_a_signature_of_hook0_over_the_body_counts_and_one_over_headers_does_not() -> None:
    draft = sent("hook0")
    t, v0 = draft.headers["X-Hook0-Signature"].split(",")
    content = f"{int(NOW)}.x-event-id.sample_1001.".encode() + draft.body
    v1 = f"v1={hmac.new(TEXT.encode(), content, hashlib.sha256).hexdigest()}"
    both = with_headers(draft, {"X-Hook0-Signature": f"{t},{v0},h=x-event-id,{v1}"})
    assert not is_refused("hook0", both)
    assert is_refused("hook0", with_headers(draft, {"X-Hook0-Signature": f"{t},h=x-event-id,{v1}"}))


@pytest.mark.req("R54")
def test_a_sender_of_cloudevents_is_told_that_it_may_send() -> None:
    headers = {"WebHook-Request-Origin": ORIGIN, "WebHook-Request-Rate": "120"}
    greeting = asked("cloudevents", "OPTIONS", headers, allowed_origin=ORIGIN).greeting
    assert greeting is not None
    assert (greeting.answer.status, greeting.answer.body) == (200, b"")
    assert dict(greeting.answer.headers) == {
        b"webhook-allowed-origin": ORIGIN.encode(),
        b"webhook-allowed-rate": b"*",
        b"allow": b"POST",
    }


@pytest.mark.req("R54")
def test_a_stranger_gets_no_consent_and_nobody_does_where_the_source_names_nobody() -> None:
    with pytest.raises(UnverifiedError):
        asked("cloudevents", "OPTIONS", {"WebHook-Request-Origin": "stranger.example"}, allowed_origin=ORIGIN)
    with pytest.raises(UnverifiedError):
        asked("cloudevents", "OPTIONS", {"WebHook-Request-Origin": ORIGIN})


@pytest.mark.req("R54")
async def test_the_consent_goes_over_the_wire() -> None:
    source = Source("events", provider("cloudevents", allowed_origin=ORIGIN), (Secret("first", TEXT.encode()),))
    shop = Shop(desk=Desk(sources=(source,)))
    await shop.open()
    try:
        client = await shop.connect()
        await client.send(
            b"OPTIONS /in/events HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n"
            b"WebHook-Request-Origin: " + ORIGIN.encode() + b"\r\n\r\n"
        )
        reply = (await client.rest()).lower()
    finally:
        await shop.close()
    assert reply.startswith(b"http/1.1 200 ")
    assert b"\r\nwebhook-allowed-origin: " + ORIGIN.encode() + b"\r\n" in reply
    assert reply.count(b"webhook-allowed-rate: *") == 1 and b"\r\nallow: post\r\n" in reply


def cloudevent(**changes: str) -> dict[str, Any]:
    attributes = {"specversion": "1.0", "id": "e1", "source": "/pier", "type": "ice.measured", "subject": "sensor-23"}
    return attributes | {"time": "2026-01-01T00:00:00Z"} | changes


def in_headers(data: dict[str, Any]) -> Draft:
    return with_headers(sent("cloudevents", {"id": "another"}), {f"ce-{name}": text for name, text in data.items()})


@pytest.mark.req("R4")
def test_a_cloudevent_is_the_same_event_in_headers_and_in_the_body() -> None:
    whole, binary = (
        event("cloudevents", sent("cloudevents", cloudevent())),
        event("cloudevents", in_headers(cloudevent())),
    )
    assert whole == binary
    assert (whole.type, whole.entity, whole.occurred_at) == ("ice.measured", "sensor-23", MIDNIGHT)


@pytest.mark.req("R4")
def test_the_id_of_a_cloudevent_is_its_sources_own() -> None:
    one, two = (event("cloudevents", sent("cloudevents", cloudevent(source=source))) for source in ("/pier", "/quay"))
    assert one.key != two.key


@pytest.mark.req("R1")
def test_the_token_of_a_cloudevent_may_stand_in_the_url() -> None:
    draft = with_headers(sent("cloudevents"), {"Authorization": None})
    assert is_refused("cloudevents", draft)
    draft.put("query:access_token", TEXT)
    assert not is_refused("cloudevents", draft)
    assert is_refused("cloudevents", with_headers(draft, {"Authorization": "Bearer of nothing"}))


@pytest.mark.parametrize("name", ["svix", "clerk"])
def test_what_we_sign_passes_the_library_of_svix_and_what_it_signs_passes_ours(name: str) -> None:
    _both_ways(pytest.importorskip("svix.webhooks"), name, "svix")


def test_what_we_sign_passes_the_reference_library_and_what_it_signs_passes_ours() -> None:
    _both_ways(pytest.importorskip("standardwebhooks.webhooks"), "standard-webhooks", "webhook")


def _both_ways(library: Any, name: str, prefix: str) -> None:
    webhook = library.Webhook(STANDARD)
    now = int(time.time())  # the library asks the clock itself
    draft = sent(name, now=now, id_="msg_1")
    webhook.verify(draft.body, draft.headers)
    with pytest.raises(library.WebhookVerificationError):
        webhook.verify(draft.body + b" ", draft.headers)
    theirs = webhook.sign("msg_1", datetime.fromtimestamp(now, UTC), draft.body.decode())
    assert not is_refused(name, with_headers(draft, {f"{prefix}-signature": theirs}), now=now)
