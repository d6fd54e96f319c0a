"""Signatures of senders that publish no example of one, made by hand: what we sign and verify alike may be wrong alike."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable

import pytest

from tests.providers.arrivals import NOW, URL, is_refused, sent, with_headers
from tests.providers.keypairs import TEXT

KEY = TEXT.encode()
SECONDS, MILLISECONDS = str(int(NOW)), str(int(NOW * 1000))


def hexadecimal(content: bytes, hash_: str = "sha256") -> str:
    return hmac.new(KEY, content, hash_).hexdigest()


def netlify(body: bytes) -> str:
    claims = {"iss": "netlify", "sha256": hashlib.sha256(body).hexdigest()}
    return _token(json.dumps(claims).encode())


def fusionauth(body: bytes) -> str:
    return _token(
        json.dumps({"request_body_sha256": base64.b64encode(hashlib.sha256(body).digest()).decode()}).encode()
    )


def _token(claims: bytes) -> str:
    parts = [base64.urlsafe_b64encode(part).rstrip(b"=") for part in (b'{"alg":"HS256","typ":"JWT"}', claims)]
    signature = hmac.new(KEY, b".".join(parts), "sha256").digest()
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


BY_HAND: dict[str, Callable[[bytes], dict[str, str]]] = {
    "bitbucket-cloud": lambda body: {"X-Hub-Signature": f"sha256={hexadecimal(body)}"},
    "linear": lambda body: {"Linear-Signature": hexadecimal(body)},
    "trello": lambda body: {
        "X-Trello-Webhook": base64.b64encode(hmac.new(KEY, body + URL.encode(), "sha1").digest()).decode()
    },
    "sentry": lambda body: {"Sentry-Hook-Signature": hexadecimal(body)},
    "vercel": lambda body: {"x-vercel-signature": hexadecimal(body, "sha1")},
    "netlify": lambda body: {"X-Webhook-Signature": netlify(body)},
    "webflow": lambda body: {
        "x-webflow-timestamp": MILLISECONDS,
        "x-webflow-signature": hexadecimal(f"{MILLISECONDS}:".encode() + body),
    },
    "elevenlabs": lambda body: {"ElevenLabs-Signature": f"t={SECONDS},v0={hexadecimal(f'{SECONDS}.'.encode() + body)}"},
    "cursor": lambda body: {"X-Webhook-Signature": f"sha256={hexadecimal(body)}"},
    "hook0": lambda body: {"X-Hook0-Signature": f"t={SECONDS},v0={hexadecimal(f'{SECONDS}.'.encode() + body)}"},
    "workos": lambda body: {
        "WorkOS-Signature": f"t={MILLISECONDS}, v1={hexadecimal(f'{MILLISECONDS}.'.encode() + body)}"
    },
    "fusionauth": lambda body: {"X-FusionAuth-Signature-JWT": fusionauth(body)},
    "auth0": lambda _body: {"Authorization": TEXT},
    "okta": lambda _body: {"Authorization": TEXT},
    "cloudevents": lambda _body: {"Authorization": f"Bearer {TEXT}"},
}


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", BY_HAND)
def test_a_signature_that_was_made_by_hand_is_right(name: str) -> None:
    draft = sent(name)
    headers = BY_HAND[name](draft.body)
    assert not is_refused(name, with_headers(draft, headers))
    assert is_refused(name, with_headers(draft, dict.fromkeys(headers)))
