"""Signed requests that the providers' own SDKs and documentation publish; they live beside the repository."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.ports.provider import Secret
from landfast.providers import Profile, names, provider
from tests.providers.requests import head_of

FILE = Path(__file__).parents[3] / "shared" / "providers" / "vectors.json"

LEGACY_GITHUB = provider("generic", header="X-Hub-Signature", algorithm="sha1", prefix="sha1=")
"""What a GitHub server from before 2020 sends can be received too, as a generic source."""


def vectors() -> list[Any]:
    if not FILE.parent.exists() and os.environ.get("CI") != "true":
        return []
    return [vector for vector in json.loads(FILE.read_text()) if vector["provider"] in names()]


VECTORS = vectors()


def profile_of(vector: dict[str, Any]) -> Profile:
    return LEGACY_GITHUB if vector["scheme"] == "github-hub" else provider(vector["provider"])


def body_of(vector: dict[str, Any]) -> bytes:
    return base64.b64decode(vector["body_base64"]) if "body_base64" in vector else str(vector["body"]).encode()


def secrets_of(vector: dict[str, Any], profile: Profile) -> list[Secret]:
    return [Secret(text, profile.decode_secret(text)) for text in vector.get("secrets") or [vector["secret"]] if text]


def is_accepted(vector: dict[str, Any]) -> bool:
    profile = profile_of(vector)
    head, body = head_of(vector["headers"]), body_of(vector)
    try:
        signature = profile.present(head.headers)
        profile.verify(signature, head, body, secrets_of(vector, profile))
    except UnverifiedError:
        return False
    if vector["now"] is None or signature.signed_at is None:
        return True
    return bool(abs(vector["now"] - signature.signed_at) <= vector["tolerance_seconds"])


def is_asymmetric(vector: dict[str, Any]) -> bool:
    return str(vector.get("secret", "")).startswith("whpk_")


@pytest.mark.skipif(not VECTORS, reason="the folder with the vectors is not beside the repository")
@pytest.mark.req("R1")
def test_every_published_request_is_judged_as_its_publisher_says() -> None:
    judged = [vector for vector in VECTORS if vector["kind"] == "request" and not is_asymmetric(vector)]
    wrong = [vector["id"] for vector in judged if is_accepted(vector) != vector["expected_valid"]]
    assert not wrong
    assert {vector["provider"] for vector in judged} == {*names()} - {"generic"}


@pytest.mark.skipif(not VECTORS, reason="the folder with the vectors is not beside the repository")
def test_a_changed_byte_of_the_body_turns_every_valid_request_into_a_refused_one() -> None:
    valid = [vector for vector in VECTORS if vector["expected_valid"] and not is_asymmetric(vector)]
    assert valid
    assert not [vector["id"] for vector in valid if is_accepted({**vector, "body": str(vector["body"]) + " "})]


@pytest.mark.skipif(not VECTORS, reason="the folder with the vectors is not beside the repository")
def test_every_published_challenge_is_answered_as_its_publisher_says() -> None:
    for vector in (vector for vector in VECTORS if vector["kind"] == "challenge"):
        answer = profile_of(vector).handshake(head_of(vector["headers"]), body_of(vector))
        assert answer is not None
        assert answer.body.decode() in json.dumps(vector["expected_response"])


@pytest.mark.skipif(not VECTORS, reason="the folder with the vectors is not beside the repository")
def test_an_asymmetric_secret_is_refused_when_it_is_configured() -> None:
    for vector in filter(is_asymmetric, VECTORS):
        with pytest.raises(ConfigError, match="Ed25519"):
            profile_of(vector).decode_secret(vector["secret"])
