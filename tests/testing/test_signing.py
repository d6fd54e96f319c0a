from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from landfast.domain.body import decode
from landfast.domain.delivery import Head, Headers, Identity
from landfast.ports.provider import Secret
from landfast.providers import Profile, provider
from landfast.testing.signing import sample, sign
from tests.providers.requests import HMAC

NOW = 1_767_323_045.0
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def received(profile: Profile, headers: dict[str, str], body: bytes) -> Identity:
    """What intake makes of the request: verified, then identified."""
    head = Head("POST", "/", headers=Headers((name.encode(), value.encode()) for name, value in headers.items()))
    profile.verify(profile.present(head), head, body, [Secret("s", profile.decode_secret(SECRET))])
    (identity,) = profile.identify(head, body, received_at=datetime.fromtimestamp(NOW, UTC))
    return identity


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("stripe", "invoice.paid"),
        ("github", "issues.closed"),
        ("github", "push"),
        ("shopify", "orders/paid"),
        ("slack", "app_mention"),
        ("standard-webhooks", "user.created"),
        ("generic", "anything"),
    ],
)
def test_a_signed_sample_arrives_with_the_type_that_was_asked_for(name: str, type_: str) -> None:
    body = sample(name, type_)
    assert received(provider(name), sign(name, body, SECRET, now=NOW, type=type_), body).type == type_


@pytest.mark.parametrize("name", HMAC)
def test_another_id_is_another_event_and_the_same_id_the_same_bytes(name: str) -> None:
    def key_of(id_: str | None) -> str:
        body = sample(name, id=id_)
        return received(provider(name), sign(name, body, SECRET, now=NOW, id=id_), body).key

    assert len({key_of(None), key_of("one"), key_of("two")}) == 3
    assert sample(name, id="one") == sample(name, id="one")


@pytest.mark.parametrize("name", HMAC)
def test_every_sample_is_sound_json_of_some_size(name: str) -> None:
    assert decode(sample(name), "application/json") == json.loads(sample(name))
    assert len(sample(name)) > 100


def test_a_source_with_its_own_scheme_can_be_signed_for_too() -> None:
    profile = provider("generic", header="X-Mac", algorithm="sha512", encoding="base64", timestamp_header="X-Time")
    body = sample("generic")
    headers = sign(profile, body, SECRET, now=NOW)
    assert {"X-Mac", "X-Time"} <= set(headers)
    assert received(profile, headers, body).type == "order.created"
