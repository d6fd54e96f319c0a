"""Signed requests that the providers' own SDKs and documentation publish: `vectors/`, with where each comes from."""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from landfast.domain.delivery import Head
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import Examined, examine
from landfast.ports.provider import Secret
from landfast.providers import Profile, provider
from landfast.providers.catalogue import PROFILES
from tests.providers.requests import headers_of

FOLDER = Path(__file__).parent / "vectors"

SETTINGS = {"meta": {"verify_token": "unused"}}


def vectors() -> list[dict[str, Any]]:
    return [vector for file in sorted(FOLDER.glob("*.json")) for vector in json.loads(file.read_text("utf-8"))]


VECTORS = vectors()


def profile_of(vector: dict[str, Any]) -> Profile:
    options: dict[str, Any] = dict(SETTINGS.get(vector["provider"], {}))
    if "key_id" in vector:
        options |= {setting.removesuffix("?"): vector["key_id"] for setting in PROFILES[vector["provider"]].settings}
    return provider(vector["provider"], **options)


def secrets_of(vector: dict[str, Any], profile: Profile) -> tuple[Secret, ...]:
    named = ("secret", "secret_secondary", "public_key", "certificate_pem", "webhook_id")
    texts = [*(vector.get("secrets") or ()), *(vector[name] for name in named if vector.get(name))]
    if vector["provider"] == "aws-sns":  # a certificate alone is everybody's: a source names its topics
        texts.append(json.loads(body_of(vector))["TopicArn"])
    return tuple(Secret(f"secret {number}", profile.decode_secret(text)) for number, text in enumerate(texts))


def body_of(vector: dict[str, Any]) -> bytes:
    return base64.b64decode(vector["body_base64"]) if "body_base64" in vector else str(vector.get("body", "")).encode()


def head_of(vector: dict[str, Any]) -> Head:
    url = urlsplit(vector.get("url") or vector.get("request_path") or "/in/source")
    query = urlencode(vector["query"]) if vector.get("query") else url.query
    return Head(vector["method"], url.path, query, headers_of(vector["headers"]))


def examined(vector: dict[str, Any], body: bytes | None = None) -> Examined:
    """By the very function that intake is made of."""
    profile = profile_of(vector)
    # The sources of these often have no clock, or check no time.
    has_clock = vector["now"] is not None
    tolerance = vector["tolerance_seconds"] or 0.0 if has_clock else math.inf
    base, query = (vector.get("url") or vector.get("request_path") or "").partition("?")[0], head_of(vector).query
    url = f"{base}?{query}" if query else base
    source = Source("source", profile, secrets_of(vector, profile), tolerance=tolerance, public_url=url)
    now = datetime.fromtimestamp(vector["now"] if has_clock else 1_600_000_000, UTC)
    return examine(source, head_of(vector), body_of(vector) if body is None else body, now=now)


def is_accepted(vector: dict[str, Any], body: bytes | None = None) -> bool:
    try:
        examined(vector, body)
    except (UnverifiedError, ConfigError):
        return False
    return True


@pytest.mark.req("R1")
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["id"]))
def test_every_published_request_is_judged_as_its_publisher_says(vector: dict[str, Any]) -> None:
    if vector["kind"] == "challenge":
        greeting = examined(vector).greeting
        assert greeting is not None
        assert greeting.answer.body.decode() == vector["expected_response"]
    else:
        assert is_accepted(vector) == vector["expected_valid"]


def test_a_changed_byte_of_the_body_turns_every_valid_request_into_a_refused_one() -> None:
    valid = [vector for vector in VECTORS if vector["expected_valid"] and vector["kind"] == "request"]
    covered = [
        vector for vector in valid if PROFILES[vector["provider"]].coverage != "no" and vector["method"] == "POST"
    ]
    # SNS signs the values of fields: what stands between them may change.
    covered = [vector for vector in covered if vector["provider"] != "aws-sns"]
    assert covered
    assert not [vector["id"] for vector in covered if is_accepted(vector, body_of(vector) + b" ")]


def test_every_vector_is_of_a_provider_that_we_know_and_says_where_it_comes_from() -> None:
    assert len(VECTORS) == len({vector["id"] for vector in VECTORS}) > 100
    for file in FOLDER.glob("*.json"):
        assert file.stem in PROFILES
        for vector in json.loads(file.read_text("utf-8")):
            assert vector["provider"] == file.stem
            assert all(vector["source"][field] for field in ("repo", "path", "commit", "license")), vector["id"]
