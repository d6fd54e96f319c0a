"""Payments, billing and banking: what is special to each provider. What all have in common is in `test_catalogue`."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

from landfast.domain.delivery import Head, Headers, Identity
from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import Examined, examine
from landfast.ports.provider import Greeting
from landfast.providers import provider
from landfast.providers.request import Draft
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import our_secrets, sender_secret

NOW = 1_767_323_045
AT = datetime.fromtimestamp(NOW, UTC)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
URL = "https://hooks.example.com/in/source"
SETTINGS: dict[str, Any] = {"braintree": {"public_key": "integration_public_key"}}


def source_of(name: str) -> Source:
    profile = provider(name, **SETTINGS.get(name, {}))
    return Source("source", profile, our_secrets(profile), public_url=URL)


def signed(name: str, body: bytes | None = None) -> Draft:
    source = source_of(name)
    return signed_request(
        source.provider,  # type: ignore[arg-type]  # a profile
        sample(name, now=NOW) if body is None else body,
        sender_secret(name),
        now=NOW,
        url=URL,
    )


def taken(name: str, draft: Draft) -> Examined:
    return examine(source_of(name), draft.head(), draft.body, now=AT)


def identities(name: str, data: Any) -> list[Identity]:
    return list(taken(name, signed(name, json.dumps(data).encode())).identities)


def only(name: str, draft: Draft) -> Identity:
    (identity,) = taken(name, draft).identities
    return identity


def asked(name: str, query: dict[str, str]) -> Greeting | None:
    return examine(source_of(name), Head("GET", "/in/source", urlencode(query)), b"", now=AT).greeting


@pytest.mark.parametrize(
    ("name", "entity", "occurred_at"),
    [
        ("stripe", "pi_1LandfastSample0001", NEW_YEAR),
        ("paypal", "9LANDFAST01", NEW_YEAR),
        ("adyen", "8825LANDFAST0001", NEW_YEAR),
        ("adyen-platform", "48POLANDFAST01", NEW_YEAR),
        ("gocardless", "PM00LANDFAST01", NEW_YEAR),
        ("square", "PLANDFAST1001", NEW_YEAR),
        ("checkout-com", "pay_landfastsample000000001001", NEW_YEAR),
        ("mollie", "tr_Landfast1001", None),
        ("mollie-next", "pl_landfast1001", NEW_YEAR),
        ("razorpay", "pay_Landfast001001", NEW_YEAR),
        ("braintree", "sample_1001", NEW_YEAR),
        ("coinbase-commerce", "5ea1ce02-0000-4000-8000-000000000001", NEW_YEAR),
        ("paddle-billing", "txn_01landfastsample0000000001", NEW_YEAR),
        ("paddle-classic", "1001", NEW_YEAR),
        ("lemonsqueezy", "subscriptions.1001", NEW_YEAR),
        ("chargebee", "sub_landfast_1001", NEW_YEAR),
        ("polar", "3f1c6b1e-0000-4000-8000-000000001001", NEW_YEAR),
        ("plaid", "item-landfast-sample_1001", None),
        ("truelayer", "pay-landfast-1001", AT),
        ("lithic", "5d1a0c3e-0000-4000-8000-000000001001", NEW_YEAR),
        ("xero", "sample_1001", NEW_YEAR),
        ("quickbooks", "310001.1001", NEW_YEAR),
    ],
)
def test_entity_and_time_are_read_from_a_sample(name: str, entity: str, occurred_at: datetime | None) -> None:
    identity = only(name, signed(name))
    assert (identity.entity, identity.occurred_at) == (entity, occurred_at)


def test_square_signs_the_url_that_the_source_says() -> None:
    draft = signed("square")
    source = source_of("square")
    elsewhere = Source("source", source.provider, source.secrets, public_url=URL + "/")
    assert taken("square", draft).secret
    with pytest.raises(UnverifiedError):
        examine(elsewhere, draft.head(), draft.body, now=AT)


@pytest.mark.req("R4")
def test_an_unsigned_id_of_razorpay_makes_no_new_event() -> None:
    draft = signed("razorpay")
    first = only("razorpay", draft)
    draft.headers["X-Razorpay-Event-Id"] = "another"
    assert only("razorpay", draft).key == first.key


@pytest.mark.req("R4")
def test_another_attempt_of_coinbase_is_the_same_event() -> None:
    data = json.loads(sample("coinbase-commerce"))
    again = {**data, "attempt_number": 7, "id": "another", "scheduled_for": "2026-01-02T00:00:00Z"}
    (first,), (second,) = identities("coinbase-commerce", data), identities("coinbase-commerce", again)
    assert first.key == second.key == data["event"]["id"]


@pytest.mark.req("R4")
@pytest.mark.parametrize("name", ["mollie", "plaid"])
def test_each_arrival_is_an_event_where_every_change_is_announced_in_the_same_words(name: str) -> None:
    draft = signed(name)
    later = examine(source_of(name), draft.head(), draft.body, now=datetime.fromtimestamp(NOW + 1, UTC))
    assert only(name, draft).key != later.identities[0].key
    assert provider(name).fetch_back


def test_mollie_repeats_its_header_after_the_secret_changed_and_either_may_be_ours() -> None:
    draft = signed("mollie-next")
    ours = draft.headers["X-Mollie-Signature"].encode()
    theirs = b"sha256=" + b"0" * 64
    for values in ([ours, theirs], [theirs, ours], [theirs + b", " + ours]):
        head = Head("POST", "/in/source", headers=Headers((b"X-Mollie-Signature", value) for value in values))
        assert examine(source_of("mollie-next"), head, draft.body, now=AT).secret
    for values in ([theirs, theirs], [ours[:-1]], [b""], [theirs] * 17 + [ours]):
        head = Head("POST", "/in/source", headers=Headers((b"X-Mollie-Signature", value) for value in values))
        with pytest.raises(UnverifiedError):
            examine(source_of("mollie-next"), head, draft.body, now=AT)


def test_the_secret_of_polar_is_its_text_and_that_of_lithic_is_base64() -> None:
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    assert provider("polar").decode_secret(secret) == secret.encode()
    assert provider("lithic").decode_secret(secret) == base64.b64decode(secret.removeprefix("whsec_"))


def test_chargebee_is_let_in_with_user_and_password_only() -> None:
    draft = signed("chargebee")
    assert draft.headers["Authorization"].startswith("Basic ")
    draft.headers["Authorization"] = "Basic " + base64.b64encode(b"user:guess").decode()
    with pytest.raises(UnverifiedError):
        taken("chargebee", draft)


def test_braintree_gets_its_public_key_and_the_hmac_of_its_challenge() -> None:
    challenge = "5ea1ce00f77439fe955c977e4c8a5301"
    greeting = asked("braintree", {"bt_challenge": challenge})
    key = hashlib.sha1(sender_secret("braintree").encode()).digest()
    proof = hmac.new(key, challenge.encode(), hashlib.sha1).hexdigest()
    assert greeting is not None
    assert greeting.answer.body == f"integration_public_key|{proof}".encode()
    assert greeting.answer.status == 200


@pytest.mark.req("R1")
def test_nobody_gets_a_payload_of_braintree_signed_as_a_challenge() -> None:
    payload = dict(parse_qsl(signed("braintree").body.decode()))["bt_payload"]
    for challenge in (payload, payload[:32], "A" * 32, "a" * 19, "a" * 33, "a" * 32 + "\n"):
        with pytest.raises(UnverifiedError):
            asked("braintree", {"bt_challenge": challenge})


@pytest.mark.req("R1")
def test_a_challenge_that_braintree_had_signed_is_no_event() -> None:
    greeting = asked("braintree", {"bt_challenge": "a" * 32})
    assert greeting is not None
    body = urlencode({"bt_signature": greeting.answer.body.decode(), "bt_payload": "a" * 32}).encode()
    with pytest.raises(UnverifiedError, match="too short"):
        taken("braintree", Draft(body, {"Content-Type": "application/x-www-form-urlencoded"}))


@pytest.mark.req("R4")
def test_an_event_of_braintree_is_known_by_its_payload_whatever_stands_around_it() -> None:
    draft = signed("braintree")
    first = only("braintree", draft)
    fields = dict(parse_qsl(draft.body.decode()))
    fields["bt_signature"] = "other_key|" + "0" * 40 + "&" + fields["bt_signature"]
    draft.body = urlencode(fields).encode()
    assert only("braintree", draft).key == first.key
    draft.body = urlencode({**fields, "bt_payload": fields["bt_payload"] + "\n"}).encode()
    with pytest.raises(UnverifiedError):
        taken("braintree", draft)


def test_a_payload_of_braintree_that_is_no_xml_is_still_an_event() -> None:
    for text in (b"not xml " * 8, b'<!DOCTYPE a [<!ENTITY b "c">]><notification><kind>&b;</kind></notification>'):
        body = urlencode({"bt_payload": base64.b64encode(text).decode()}).encode()
        identity = only("braintree", signed("braintree", body))
        assert (identity.type, identity.entity) == ("", None)


def test_paddle_classic_signs_the_form_as_php_serialises_it() -> None:
    body = urlencode({"b": "Ü", "a": "", "p_signature": "left out"}).encode()
    draft = Draft(body, {"Content-Type": "application/x-www-form-urlencoded"})
    assert draft.request().as_form().php_form() == 'a:2:{s:1:"a";s:0:"";s:1:"b";s:2:"Ü";}'.encode()


@pytest.mark.req("R1", "R4")
def test_a_field_of_paddle_classic_that_stands_twice_is_refused() -> None:
    draft = signed("paddle-classic")
    assert only("paddle-classic", draft).key == "184200001"
    draft.body += b"&alert_id=184200001"
    with pytest.raises(UnverifiedError, match="twice"):
        taken("paddle-classic", draft)


def intent(name: str = "xero") -> Draft:
    body = b'{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"LANDFASTENTROPY"}'
    return signed(name, body)


def test_xero_gets_an_empty_200_for_its_intent_to_receive_and_for_events() -> None:
    greeting = taken("xero", intent()).greeting
    assert greeting is not None
    assert (greeting.answer.status, greeting.answer.body) == (200, b"")
    thanks = provider("xero").thanks
    assert thanks is not None and (thanks.status, thanks.body) == (200, b"")


def test_xero_gets_401_where_it_signs_its_intent_wrongly() -> None:
    draft = intent()
    draft.headers["x-xero-signature"] = base64.b64encode(bytes(32)).decode()
    with pytest.raises(UnverifiedError) as refused:
        taken("xero", draft)
    assert refused.value.answer.status == 401


@pytest.mark.req("R4")
def test_each_event_of_xero_has_its_own_key_whatever_its_neighbours_are() -> None:
    data = json.loads(sample("xero"))
    event = data["events"][0]
    other = {**event, "eventType": "CREATE"}
    both = identities("xero", {**data, "events": [event, other], "lastEventSequence": 2, "entropy": "ANOTHER"})
    (alone,) = identities("xero", data)
    assert both[0].key == alone.key != both[1].key
    assert [each.type for each in both] == ["INVOICE.UPDATE", "INVOICE.CREATE"]


def test_quickbooks_is_read_in_its_shape_of_before_2026_too() -> None:
    def notice(realm: str, *entities: dict[str, str]) -> dict[str, Any]:
        return {"realmId": realm, "dataChangeEvent": {"entities": list(entities)}}

    invoice = {"name": "Invoice", "id": "7", "operation": "Update", "lastUpdated": "2026-01-01T00:00:00.000Z"}
    found = identities(
        "quickbooks",
        {"eventNotifications": [notice("31", invoice, {**invoice, "id": "8"}), notice("32", invoice)]},
    )
    assert [each.entity for each in found] == ["31.7", "31.8", "32.7"]
    assert {each.type for each in found} == {"Invoice.Update"}
    assert {each.occurred_at for each in found} == {NEW_YEAR}
    assert len({each.key for each in found}) == 3
    (alone,) = identities("quickbooks", {"eventNotifications": [notice("32", invoice)]})
    assert alone.key == found[2].key


@pytest.mark.req("R4")
def test_each_cloud_event_of_quickbooks_has_its_own_key() -> None:
    (event,) = json.loads(sample("quickbooks"))
    first, second = identities("quickbooks", [event, {**event, "id": "another"}])
    (alone,) = identities("quickbooks", [event])
    assert first.key == alone.key != second.key


def test_a_dispute_of_checkout_com_is_in_the_lane_of_its_payment() -> None:
    data = {"id": "evt_1", "type": "dispute_received", "created_on": "2026-01-01T00:00:00Z"}
    (identity,) = identities("checkout-com", {**data, "data": {"id": "dsp_1", "payment_id": "pay_1"}})
    assert (identity.entity, identity.occurred_at) == ("pay_1", NEW_YEAR)


def test_a_lemon_squeezy_event_is_named_by_what_is_signed() -> None:
    draft = signed("lemonsqueezy")
    draft.headers["X-Event-Name"] = "order_refunded"
    assert only("lemonsqueezy", draft).type == "subscription_created"
