"""Handshakes: the exact answer to each, and none to what only looks like one."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest

from landfast.domain.delivery import Head
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import examine
from landfast.ports.provider import Greeting, Secret
from landfast.providers import provider
from landfast.providers.handshake import Handshake, Proof
from landfast.providers.profile import Profile
from landfast.providers.schemes.token import TokenScheme
from landfast.providers.signing import signed_request
from tests.providers.keypairs import our_secrets, sender_secret
from tests.providers.requests import headers_of

NOW = 1_767_323_045
AT = datetime.fromtimestamp(NOW, UTC)
URL = "https://hooks.example.com/in/source"
SECRET = Secret("first", b"a secret of the sender, long enough")
META = {"hub.mode": "subscribe", "hub.challenge": "1158201444", "hub.verify_token": "ours"}


def asked(
    profile: Profile, method: str, query: dict[str, str], headers: dict[str, str] | None = None
) -> Greeting | None:
    head = Head(method, "/in/source", urlencode(query), headers_of(headers or {}))
    return examine(Source("source", profile, (SECRET,), public_url=URL), head, b"", now=AT).greeting


def posted(name: str, data: dict[str, Any]) -> Greeting | None:
    profile = provider(name)
    draft = signed_request(profile, json.dumps(data).encode(), sender_secret(name), now=NOW)
    source = Source("source", profile, our_secrets(profile))
    return examine(source, draft.head(), draft.body, now=AT).greeting


def described(handshake: Handshake, *settings: str) -> Profile:
    return Profile(
        name="made-up", scheme=TokenScheme(token="header:X-Token"), key="body", type="body:type",
        handshakes=(handshake,), settings=settings, given=dict.fromkeys(settings, "ours"),
    )  # fmt: skip


def test_meta_is_answered_with_its_challenge_as_plain_text() -> None:
    greeting = asked(provider("meta", verify_token="ours"), "GET", META)
    assert greeting is not None
    assert (greeting.answer.status, greeting.answer.body) == (200, b"1158201444")
    assert greeting.answer.content_type.startswith(b"text/plain")


@pytest.mark.req("R1")
@pytest.mark.parametrize("token", ["", "OURS", "ours ", "theirs"])
def test_a_wrong_verify_token_gets_no_challenge_back(token: str) -> None:
    with pytest.raises(UnverifiedError, match="verify_token"):
        asked(provider("meta", verify_token="ours"), "GET", {**META, "hub.verify_token": token})


def test_a_source_without_a_token_answers_nobody() -> None:
    with pytest.raises(UnverifiedError):
        asked(provider("meta"), "GET", {**META, "hub.verify_token": ""})


@pytest.mark.parametrize("query", [{}, {"hub.mode": "subscribe"}, {**META, "hub.mode": "unsubscribe"}])
def test_what_is_no_handshake_of_meta_must_be_signed(query: dict[str, str]) -> None:
    with pytest.raises(UnverifiedError, match="missing"):
        asked(provider("meta", verify_token="ours"), "GET", query)


def test_okta_gets_its_header_back_as_json() -> None:
    greeting = asked(provider("okta"), "GET", {}, {"X-Okta-Verification-Challenge": 'a"<b>'})
    assert greeting is not None
    assert json.loads(greeting.answer.body) == {"verification": 'a"<b>'}
    assert greeting.answer.content_type == b"application/json"


def test_zoom_gets_its_token_and_the_hmac_of_it() -> None:
    greeting = posted("zoom", {"event": "endpoint.url_validation", "payload": {"plainToken": "qgg8vlvZRS6UYooatFL8Aw"}})
    expected = hmac.new(sender_secret("zoom").encode(), b"qgg8vlvZRS6UYooatFL8Aw", hashlib.sha256).hexdigest()
    assert greeting is not None
    assert json.loads(greeting.answer.body) == {"plainToken": "qgg8vlvZRS6UYooatFL8Aw", "encryptedToken": expected}


def test_discord_gets_the_number_one_back() -> None:
    greeting = posted("discord-interactions", {"type": 1, "id": "1"})
    assert greeting is not None and greeting.answer.body == b'{"type":1}'
    assert posted("discord-interactions", {"type": 2, "id": "1"}) is None


def test_a_handshake_that_should_be_signed_and_is_not_gets_nothing() -> None:
    head = Head("POST", "/in/source", headers=headers_of({"Content-Type": "application/json"}))
    source = Source("source", provider("slack"), (SECRET,))
    with pytest.raises(UnverifiedError):
        examine(source, head, b'{"type":"url_verification","challenge":"x"}', now=AT)


def test_a_subscription_of_sns_asks_somebody_to_open_an_address_of_amazons_only() -> None:
    message = {
        "Type": "SubscriptionConfirmation",
        "MessageId": "m",
        "Token": "t",
        "Message": "x",
        "Timestamp": "2026-01-02T03:04:00.000Z",
    }
    message["TopicArn"] = "arn:aws:sns:eu-west-1:123456789012:shore"
    url = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=abc"
    greeting = posted("aws-sns", {**message, "SubscribeURL": url})
    assert greeting is not None and greeting.visit == url and greeting.answer.status == 200
    for elsewhere in (
        "https://evil.example/?sns.eu-west-1.amazonaws.com",
        "http://sns.eu-west-1.amazonaws.com/?a=b",
    ):
        other = posted("aws-sns", {**message, "SubscribeURL": elsewhere})
        assert other is not None and other.visit is None
    with pytest.raises(UnverifiedError, match="more than one line"):
        posted("aws-sns", {**message, "SubscribeURL": f"{url}\n"})


def test_a_proof_may_be_keyed_or_a_digest_of_settings_and_url() -> None:
    keyed = Handshake(
        method="GET",
        when="query:crc_token",
        json={"response_token": Proof(of="{query:crc_token}", encoding="base64", prefix="sha256=")},
    )
    greeting = asked(described(keyed), "GET", {"crc_token": "abc"})
    mac = hmac.new(SECRET.key, b"abc", hashlib.sha256).digest()
    assert greeting is not None
    assert json.loads(greeting.answer.body) == {"response_token": "sha256=" + base64.b64encode(mac).decode()}
    plain = Handshake(
        method="GET",
        when="query:challenge_code",
        json={
            "challengeResponse": Proof(
                of="{query:challenge_code}{setting:verification_token}{url_without_query}", is_keyed=False
            )
        },
    )
    answered = asked(described(plain, "verification_token"), "GET", {"challenge_code": "c"})
    assert answered is not None
    assert json.loads(answered.answer.body) == {
        "challengeResponse": hashlib.sha256(b"cours" + URL.encode()).hexdigest()
    }
    assert plain.needs_url and plain.settings == {"verification_token"}


def test_a_header_is_echoed_only_if_it_cannot_begin_another() -> None:
    echo = described(
        Handshake(when="header:X-Hook-Secret", headers={"X-Hook-Secret": "{header:X-Hook-Secret}"}, status=204)
    )
    greeting = asked(echo, "POST", {}, {"X-Hook-Secret": "b537207f20cbfa02"})
    assert greeting is not None
    assert (greeting.answer.status, greeting.answer.headers) == (204, ((b"x-hook-secret", b"b537207f20cbfa02"),))
    with pytest.raises(UnverifiedError):
        asked(echo, "POST", {}, {"X-Hook-Secret": "a\r\nSet-Cookie: b"})


def test_head_and_options_are_answered_for_those_who_ask_so_and_nobody_says_back_a_book() -> None:
    assert described(Handshake(method="HEAD")).takes("HEAD") and not provider("stripe").takes("HEAD")
    assert asked(described(Handshake(method="HEAD")), "HEAD", {}) is not None
    long = described(Handshake(method="GET", when="query:challenge", text="{query:challenge}"))
    with pytest.raises(UnverifiedError):
        asked(long, "GET", {"challenge": "x" * 5000})


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "PUT"},
        {"method": "GET", "text": "a", "json": {}},
        {},
        {"when": "body:type=ping"},
        {"when": "cookie:x", "is_signed": True},
        {"method": "GET", "text": "{nothing}"},
    ],
)
def test_a_handshake_that_cannot_work_is_a_config_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Handshake(**wrong)


def test_a_handshake_may_want_a_place_to_be_empty() -> None:
    ping = described(Handshake(when="!header:X-Token & header:X-Ping", text=""))
    greeting = asked(ping, "POST", {}, {"X-Ping": "1"})
    assert greeting is not None and greeting.answer.body == b""
    with pytest.raises(UnverifiedError):
        asked(ping, "POST", {}, {"X-Ping": "1", "X-Token": "a guess"})


@pytest.mark.req("R1")
def test_a_proof_may_be_of_less_than_any_challenge() -> None:
    narrow = described(
        Handshake(method="GET", when="query:c", text=Proof(of="{query:c}", matches="[a-f0-9]{4}", encoding="base64"))
    )
    assert asked(narrow, "GET", {"c": "beef"}) is not None
    for other in ("beefy", "BEEF", "bee", "bee\n"):
        with pytest.raises(UnverifiedError):
            asked(narrow, "GET", {"c": other})
    with pytest.raises(ConfigError, match="no pattern"):
        Handshake(method="GET", text=Proof(of="x", matches="["))
