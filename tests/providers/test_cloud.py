"""Google Pub/Sub, Azure Event Grid, and what Amazon SNS is answered."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import Examined, examine
from landfast.ports.provider import KeyNeeded, Secret
from landfast.providers import provider
from landfast.providers.request import Draft
from landfast.providers.schemes.algorithms import public_key
from landfast.providers.schemes.compact_token import compact
from landfast.providers.signing import signed_request
from tests.providers.keypairs import ACCOUNT, pair, sender_secret
from tests.providers.senders import NOW, URL, event, events, sample_of, signed, source_of, taken

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
PUBSUB: dict[str, Any] = {
    "iss": "https://accounts.google.com",
    "aud": "https://hooks.example.com",
    "email": ACCOUNT,
    "email_verified": True,
    "iat": NOW,
    "exp": NOW + 3_600,
}


def pushed(claims: dict[str, Any], *secrets: bytes, at: float = NOW) -> Examined:
    """A push with a token of these claims, signed by the key of Google's that the source was given."""
    token = compact({"alg": "RS256", "kid": "1"}, json.dumps(claims).encode(), pair("rsa")[0].encode())
    draft = Draft(json.dumps(sample_of("google-pubsub")).encode(), {"Authorization": f"Bearer {token}"})
    given = [Secret(str(number), key) for number, key in enumerate(secrets or (ACCOUNT.encode(), google_key()))]
    source = Source("source", provider("google-pubsub", audience="https://hooks.example.com"), tuple(given))
    return examine(source, draft.head(), draft.body, now=datetime.fromtimestamp(at, UTC))


def google_key() -> bytes:
    return public_key(pair("rsa")[1])


def test_a_push_of_our_service_account_is_taken_and_read_right() -> None:
    (found,) = pushed(PUBSUB).identities
    assert (found.type, found.entity, found.occurred_at) == ("OBJECT_FINALIZE", "north-pier", NEW_YEAR)


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    "other",
    [
        {"email": "somebody@else.iam.gserviceaccount.com"},
        {"email": None},
        {"email_verified": False},
        {"email_verified": "true"},
        {"email_verified": None},
        {"aud": "https://elsewhere.example.com"},
        {"aud": ["https://hooks.example.com"]},
        {"iss": "https://accounts.google.com.evil.example"},
        {"exp": NOW - 60},
    ],
)
def test_a_token_of_google_with_another_claim_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(UnverifiedError):
        pushed({**PUBSUB, **other})


@pytest.mark.req("R1")
def test_the_key_of_google_alone_lets_nobody_in() -> None:
    with pytest.raises(UnverifiedError):
        pushed(PUBSUB, google_key())


def test_the_keys_of_google_are_asked_for_only_for_our_service_account() -> None:
    with pytest.raises(KeyNeeded) as needed:
        pushed(PUBSUB, ACCOUNT.encode())
    assert needed.value.url == "https://www.googleapis.com/oauth2/v3/certs"
    with pytest.raises(UnverifiedError):
        pushed({**PUBSUB, "email": "somebody@else.iam.gserviceaccount.com"}, ACCOUNT.encode())


@pytest.mark.req("R4")
def test_a_message_is_the_same_in_every_attempt_and_another_in_another_subscription() -> None:
    data = sample_of("google-pubsub")
    first = event("google-pubsub", data)
    assert event("google-pubsub", {**data, "deliveryAttempt": 5}).key == first.key
    assert event("google-pubsub", {**data, "subscription": "projects/north-pier/subscriptions/b"}).key != first.key


def test_googles_own_library_agrees_with_what_we_sign() -> None:
    jwt = pytest.importorskip("google.auth.jwt")
    draft = signed_request(
        provider("google-pubsub", audience="https://hooks.example.com"),
        b"{}",
        sender_secret("google-pubsub"),
        now=datetime.now(UTC).timestamp(),  # its clock is the machine's
    )
    token = draft.headers["Authorization"].removeprefix("Bearer ")
    claims = jwt.decode(token, certs=pair("rsa")[1], audience="https://hooks.example.com")
    assert (claims["email"], claims["email_verified"], claims["iss"]) == (ACCOUNT, True, PUBSUB["iss"])


def validation(url: str) -> Draft:
    data = [{"id": "1", "eventType": "Microsoft.EventGrid.SubscriptionValidationEvent", "data": {"validationCode": "512d38b6"}}]  # fmt: skip
    return Draft(json.dumps(data).encode(), {"aeg-event-type": "SubscriptionValidation"}, url)


def test_event_grid_gets_its_code_back_as_json() -> None:
    draft = validation(signed("azure-event-grid", []).url)
    found = examine(source_of("azure-event-grid"), draft.head(), draft.body, now=datetime.fromtimestamp(NOW, UTC))
    assert found.greeting is not None and found.greeting.answer.status == 200
    assert found.greeting.answer.content_type == b"application/json"
    assert found.greeting.answer.body == b'{"validationResponse":"512d38b6"}'


@pytest.mark.req("R1")
@pytest.mark.parametrize("query", ["", "?code=", "?code=another", "?code=a&code=b"])
def test_a_stranger_cannot_subscribe_us_to_event_grid(query: str) -> None:
    draft = validation(URL + query)
    with pytest.raises(UnverifiedError):
        examine(source_of("azure-event-grid"), draft.head(), draft.body, now=datetime.fromtimestamp(NOW, UTC))


@pytest.mark.req("R4")
def test_each_event_of_a_batch_of_event_grid_has_its_own_key() -> None:
    (one,), (two,) = sample_of("azure-event-grid"), sample_of("azure-event-grid", id="831e1650-2")
    first, second = events("azure-event-grid", [one, two])
    assert (first.key, second.key) == (one["id"], "831e1650-2")
    assert (first.type, first.entity) == ("Microsoft.Storage.BlobCreated", one["subject"])
    assert first.occurred_at == NEW_YEAR


@pytest.mark.parametrize("name", ["azure-event-grid", "aws-sns"])
def test_a_refusal_by_those_who_drop_after_a_4xx_makes_them_come_again(name: str) -> None:
    draft = signed(name, sample_of(name))
    draft.body, draft.url = b"{}", URL
    with pytest.raises(UnverifiedError) as refused:
        taken(name, draft)
    assert refused.value.answer.status == 503
    assert b"retry-after" in dict(refused.value.answer.headers)
