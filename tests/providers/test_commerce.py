"""Shops and parcels: what is special to each provider. What all have in common is in `test_catalogue`."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain.delivery import Head, Identity
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import Examined, examine
from landfast.ports.provider import Greeting
from landfast.providers import provider
from landfast.providers.request import Draft
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import our_secrets, pair, sender_secret
from tests.providers.requests import headers_of

NOW = 1_767_323_045
AT = datetime.fromtimestamp(NOW, UTC)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
URL = "https://hooks.example.com/in/source"
TOKEN = "a token that was given to the sender"
SETTINGS: dict[str, Any] = {"ebay": {"verification_token": TOKEN}}


def source_of(name: str) -> Source:
    profile = provider(name, **SETTINGS.get(name, {}))
    return Source("source", profile, our_secrets(profile), public_url=URL)


def signed(name: str, body: bytes | None = None) -> Draft:
    chosen = sample(name, now=NOW) if body is None else body
    return signed_request(provider(name), chosen, sender_secret(name), now=NOW, id="msg_1001", url=URL)


def taken(name: str, draft: Draft) -> Examined:
    return examine(source_of(name), draft.head(), draft.body, now=AT)


def only(name: str, draft: Draft) -> Identity:
    (identity,) = taken(name, draft).identities
    return identity


def asked(name: str, query: dict[str, str]) -> Greeting | None:
    return examine(source_of(name), Head("GET", "/in/source", urlencode(query)), b"", now=AT).greeting


def posted(name: str, headers: dict[str, str], body: bytes) -> Examined:
    return examine(source_of(name), Head("POST", "/in/source", headers=headers_of(headers)), body, now=AT)


@pytest.mark.parametrize(
    ("name", "entity", "occurred_at"),
    [
        ("shopify", "gid://shopify/Order/820000001001", None),
        ("woocommerce", "1001", NEW_YEAR),
        ("bigcommerce", "order.1001", NEW_YEAR),
        ("ebay", "landfast1001", NEW_YEAR),
        ("easypost", "trk_landfast000000000000001001", NEW_YEAR),
        ("onfleet", "sample_1001", NEW_YEAR),
    ],
)
def test_entity_and_time_are_read_from_a_sample(name: str, entity: str, occurred_at: datetime | None) -> None:
    identity = only(name, signed(name))
    assert (identity.entity, identity.occurred_at) == (entity, occurred_at)


@pytest.mark.req("R4")
@pytest.mark.parametrize(
    ("name", "header"), [("shopify", "X-Shopify-Webhook-Id"), ("woocommerce", "X-WC-Webhook-Delivery-ID")]
)
def test_an_unsigned_id_makes_no_new_event(name: str, header: str) -> None:
    draft = signed(name)
    first = only(name, draft)
    draft.headers[header] = "another"
    assert only(name, draft).key == first.key


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=UTF-8"]
)
def test_the_ping_of_woocommerce_gets_an_empty_200_and_is_no_event(kind: str) -> None:
    examined = posted("woocommerce", {"Content-Type": kind}, b"webhook_id=12")
    assert examined.greeting is not None and not examined.identities
    assert (examined.greeting.answer.status, examined.greeting.answer.body) == (200, b"")


@pytest.mark.req("R1")
def test_what_claims_to_be_signed_by_woocommerce_is_never_taken_for_a_ping() -> None:
    kind = "application/x-www-form-urlencoded"
    with pytest.raises(UnverifiedError):
        posted("woocommerce", {"Content-Type": kind, "X-WC-Webhook-Signature": "AAAA"}, b"webhook_id=12")
    draft = signed("woocommerce")
    draft.headers["Content-Type"] = kind
    assert taken("woocommerce", draft).greeting is None


@pytest.mark.req("R4")
def test_two_changes_of_one_order_at_bigcommerce_have_the_same_hash_and_are_two_events() -> None:
    body = sample("bigcommerce")
    first = signed_request("bigcommerce", body, sender_secret("bigcommerce"), now=NOW, id="msg_1")
    second = signed_request("bigcommerce", body, sender_secret("bigcommerce"), now=NOW, id="msg_2")
    assert only("bigcommerce", first).key == "msg_1" and only("bigcommerce", second).key == "msg_2"
    first.headers["webhook-id"] = "msg_3"  # it is signed
    with pytest.raises(UnverifiedError):
        taken("bigcommerce", first)


def test_ebay_gets_the_digest_of_its_challenge_our_token_and_the_url() -> None:
    greeting = asked("ebay", {"challenge_code": "a8628072-3d33"})
    assert greeting is not None and greeting.answer.content_type == b"application/json"
    digest = hashlib.sha256(f"a8628072-3d33{TOKEN}{URL}".encode()).hexdigest()
    assert json.loads(greeting.answer.body) == {"challengeResponse": digest}


@pytest.mark.req("R4")
def test_another_attempt_of_ebay_is_the_same_event() -> None:
    data = json.loads(sample("ebay"))
    data["notification"] |= {"publishAttemptCount": 3, "publishDate": "2026-01-02T00:00:00.000Z"}
    again = signed("ebay", json.dumps(data).encode())
    assert only("ebay", again).key == only("ebay", signed("ebay")).key


def test_ebay_is_refused_with_412() -> None:
    draft = signed("ebay")
    draft.body += b" "
    with pytest.raises(UnverifiedError) as refused:
        taken("ebay", draft)
    assert refused.value.answer.status == 412


def test_a_key_of_ebay_may_stand_in_one_line() -> None:
    public = pair("ecdsa")[1]
    assert provider("ebay").decode_secret(public.replace("\n", "")) == provider("ebay").decode_secret(public)
    for wrong in (pair("rsa")[1], pair("ecdsa")[0], "", "no key"):
        with pytest.raises(ConfigError):
            provider("ebay").decode_secret(wrong)


def ebay_header(**changed: Any) -> str:
    header = json.loads(base64.b64decode(signed("ebay").headers["X-EBAY-SIGNATURE"]))
    return base64.b64encode(json.dumps(header | changed).encode()).decode()


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    "header",
    [
        "", "?", "e30=", base64.b64encode(b"[]").decode(), base64.b64encode(b"{" * 900).decode(), "A" * 5000,
        ebay_header(alg="none"), ebay_header(alg=None), ebay_header(digest="MD5"), ebay_header(digest=["SHA1"]),
        ebay_header(digest="SHA256"), ebay_header(signature=""), ebay_header(signature=7),
        ebay_header(signature="AAAA"), ebay_header(signature="\ud800"),
    ],
)  # fmt: skip
def test_a_header_of_ebay_that_is_not_right_is_refused(header: str) -> None:
    draft = signed("ebay")
    draft.headers["X-EBAY-SIGNATURE"] = header
    with pytest.raises(UnverifiedError):
        taken("ebay", draft)


@pytest.mark.req("R1")
@given(st.integers(0, 9_999), st.integers(0, 7))
def test_any_changed_bit_of_ebays_signature_is_refused(place: int, bit: int) -> None:
    draft = signed("ebay")
    header = json.loads(base64.b64decode(draft.headers["X-EBAY-SIGNATURE"]))
    digest = bytearray(base64.b64decode(header["signature"]))
    digest[place % len(digest)] ^= 1 << bit
    header["signature"] = base64.b64encode(digest).decode()
    draft.headers["X-EBAY-SIGNATURE"] = base64.b64encode(json.dumps(header).encode()).decode()
    with pytest.raises(UnverifiedError):
        taken("ebay", draft)


def test_onfleet_gets_back_what_it_asks_to_be_told() -> None:
    greeting = asked("onfleet", {"check": "c0ffee"})
    assert greeting is not None
    assert (greeting.answer.status, greeting.answer.body) == (200, b"c0ffee")
    assert greeting.answer.content_type.startswith(b"text/plain")


@pytest.mark.req("R4")
def test_an_event_of_onfleet_is_known_by_trigger_task_and_time() -> None:
    data = json.loads(sample("onfleet"))
    first = only("onfleet", signed("onfleet", json.dumps(data).encode()))
    again = only("onfleet", signed("onfleet", json.dumps({**data, "actionContext": None}).encode()))
    later = only("onfleet", signed("onfleet", json.dumps({**data, "time": data["time"] + 1}).encode()))
    assert first.key == again.key != later.key


@pytest.mark.req("R4")
def test_another_attempt_of_easypost_is_the_same_event() -> None:
    data = json.loads(sample("easypost"))
    again = signed("easypost", json.dumps({**data, "pending_urls": [], "completed_urls": [URL]}).encode())
    assert only("easypost", again).key == only("easypost", signed("easypost")).key
