"""Social networks: what is special to each."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from landfast.domain.delivery import Head
from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import examine
from landfast.ports.provider import Greeting
from landfast.providers import provider
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import our_secrets, sender_secret
from tests.providers.requests import headers_of
from tests.providers.test_messaging import AT, BORN, NOW, only, taken

KEY = sender_secret("x-twitter").encode()
CHALLENGE = {"hub.mode": "subscribe", "hub.challenge": "1158201444", "hub.verify_token": "ours"}


def asked(name: str, query: dict[str, str], **settings: Any) -> Greeting | None:
    profile = provider(name, **settings)
    source = Source("source", profile, our_secrets(profile))
    return examine(source, Head("GET", "/in/source", urlencode(query)), b"", now=AT).greeting


def change(id_: str, *, field: str = "messages") -> dict[str, Any]:
    message = {"from": "4930", "id": id_, "timestamp": "1767225600", "type": "text"}
    return {"field": field, "value": {"metadata": {"phone_number_id": "106"}, "messages": [message]}}


def whatsapp(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"object": "whatsapp_business_account", "entry": list(entries)}


@pytest.mark.parametrize("name", ["meta", "whatsapp"])
def test_the_subscription_is_answered_with_its_challenge_for_the_right_token_only(name: str) -> None:
    greeting = asked(name, CHALLENGE, verify_token="ours")
    assert greeting is not None and (greeting.answer.status, greeting.answer.body) == (200, b"1158201444")
    with pytest.raises(UnverifiedError, match="verify_token"):
        asked(name, CHALLENGE, verify_token="theirs")


@pytest.mark.req("R4")
def test_each_change_of_whatsapp_is_an_event_however_the_changes_are_batched() -> None:
    together = taken("whatsapp", whatsapp({"id": "102", "changes": [change("A"), change("B")]})).identities
    apart = [only("whatsapp", whatsapp({"id": "102", "changes": [change(id_)]})) for id_ in ("A", "B")]
    assert [each.key for each in together] == [each.key for each in apart]
    assert len({each.key for each in together}) == 2
    first = together[0]
    assert (first.type, first.entity, first.occurred_at) == ("messages", "106.4930", BORN)


def test_the_statuses_of_one_whatsapp_message_are_events_of_their_own() -> None:
    def status(name: str) -> str:
        told = {"id": "A", "status": name, "timestamp": "1767225600", "recipient_id": "4931"}
        value = {"metadata": {"phone_number_id": "106"}, "statuses": [told]}
        identity = only("whatsapp", whatsapp({"id": "102", "changes": [{"field": "messages", "value": value}]}))
        assert identity.entity == "106.4931"
        return identity.key

    assert status("sent") != status("delivered")


def test_what_happens_to_an_account_twice_is_two_events_though_the_change_is_the_same() -> None:
    verified = {"field": "account_update", "value": {"event": "VERIFIED_ACCOUNT"}}
    first, second = (
        only("whatsapp", whatsapp({"id": "102", "time": time, "changes": [verified]}))
        for time in (1_767_225_600, 1_767_225_601)
    )
    assert first.key != second.key
    assert (first.type, first.entity, first.occurred_at) == ("account_update", "102", BORN)


def test_x_is_answered_with_the_hmac_of_its_token() -> None:
    greeting = asked("x-twitter", {"crc_token": "uzwcfYtzr9"})
    expected = base64.b64encode(hmac.digest(KEY, b"uzwcfYtzr9", "sha256")).decode()
    assert greeting is not None and greeting.answer.content_type == b"application/json"
    assert json.loads(greeting.answer.body) == {"response_token": f"sha256={expected}"}


@pytest.mark.req("R1")
@pytest.mark.parametrize("body", ['{"for_user_id":"1"}', "[1]", '"a"', "a b", "x" * 513, "é", "a\n"])
def test_nobody_gets_an_event_signed_by_asking_for_the_answer_to_a_challenge(body: str) -> None:
    with pytest.raises(UnverifiedError):
        asked("x-twitter", {"crc_token": body})


@pytest.mark.req("R1")
@pytest.mark.parametrize("body", [b"uzwcfYtzr9", b"1", b"null", b"true"])
def test_the_answer_to_a_challenge_is_no_signature_of_an_event(body: bytes) -> None:
    greeting = asked("x-twitter", {"crc_token": body.decode()})
    assert greeting is not None
    signature = json.loads(greeting.answer.body)["response_token"]
    profile = provider("x-twitter")
    head = Head("POST", "/in/source", headers=headers_of({"x-twitter-webhooks-signature": signature}))
    with pytest.raises(UnverifiedError, match="challenge"):
        examine(Source("source", profile, our_secrets(profile)), head, body, now=AT)


@pytest.mark.parametrize(
    ("data", "type_", "entity"),
    [
        ({"for_user_id": "1", "user_has_blocked": False, "tweet_create_events": [{"id_str": "2"}]}, "tweet_create_events", "1"),
        ({"for_user_id": "1", "direct_message_events": [{}], "apps": {}, "users": {}}, "direct_message_events", "1"),
        ({"user_event": {"revoke": {}}}, "user_event", None),
        ({"data": {"event_type": "profile.update.bio", "filter": {"user_id": "3"}}}, "profile.update.bio", "3"),
    ],
)  # fmt: skip
def test_the_type_of_an_event_of_x_is_the_name_of_its_field(data: Any, type_: str, entity: str | None) -> None:
    identity = only("x-twitter", data)
    assert (identity.type, identity.entity) == (type_, entity)


def test_twitch_gets_its_challenge_as_plain_text_and_only_the_challenge() -> None:
    pending = {"id": "1", "type": "channel.follow", "status": "webhook_callback_verification_pending"}
    greeting = taken("twitch", {"challenge": "pogchamp-kappa-360noscope", "subscription": pending}).greeting
    assert greeting is not None
    assert (greeting.answer.status, greeting.answer.body) == (200, b"pogchamp-kappa-360noscope")
    assert greeting.answer.content_type.startswith(b"text/plain")


def test_the_unsigned_headers_of_twitch_change_neither_key_nor_type() -> None:
    body = sample("twitch")
    plain = only("twitch", body)
    other = only(
        "twitch",
        body,
        headers={"Twitch-Eventsub-Subscription-Type": "channel.ban", "Twitch-Eventsub-Message-Retry": "3"},
    )
    assert (plain.key, plain.type, plain.entity) == (other.key, other.type, other.entity)
    assert (plain.type, plain.entity, plain.occurred_at) == ("channel.follow", "1001", AT)


@pytest.mark.req("R1")
def test_the_id_of_twitch_is_signed() -> None:
    with pytest.raises(UnverifiedError, match="no active secret"):
        taken("twitch", sample("twitch"), headers={"Twitch-Eventsub-Message-Id": "another"})


def test_a_signature_of_twitch_counts_for_ten_minutes_and_over_the_time_as_it_is_written() -> None:
    assert taken("twitch", sample("twitch"), now=NOW - 600).identities
    with pytest.raises(UnverifiedError, match="s before our clock"):
        taken("twitch", sample("twitch"), now=NOW - 601)
    body, at = sample("twitch"), "2026-01-02T03:04:00.123456789Z"
    key = sender_secret("twitch").encode()
    made = hmac.new(key, b"id1" + at.encode() + body, hashlib.sha256).hexdigest()
    headers = {"Id": "id1", "Timestamp": at, "Signature": f"sha256={made}"}
    head = Head(
        "POST", "/", headers=headers_of({f"Twitch-Eventsub-Message-{name}": each for name, each in headers.items()})
    )
    profile = provider("twitch")
    (identity,) = examine(Source("source", profile, our_secrets(profile)), head, body, now=AT).identities
    assert identity.key == "id1"


def test_a_changed_body_of_any_of_them_is_refused() -> None:
    for name in ("meta", "whatsapp", "x-twitter", "twitch"):
        profile = provider(name)
        draft = signed_request(profile, sample(profile), sender_secret(name), now=NOW)
        with pytest.raises(UnverifiedError):
            examine(Source("source", profile, our_secrets(profile)), draft.head(), draft.body + b" ", now=AT)
