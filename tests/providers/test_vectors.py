"""Signed requests that the providers' own SDKs and documentation publish; they live beside the repository."""

from __future__ import annotations

import base64
import json
import math
import os
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

FILE = Path(__file__).parents[3] / "shared" / "providers" / "vectors.json"

needs_vectors = pytest.mark.skipif(
    not FILE.exists() and os.environ.get("CI") != "true",
    reason="the folder with the vectors is not beside the repository",
)

SETTINGS = {"meta": {"verify_token": "unused"}}


def vectors() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(FILE.read_text()) if FILE.exists() else []
    return found


KNOWN = [vector for vector in vectors() if vector["provider"] in PROFILES]


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


@needs_vectors
@pytest.mark.req("R1")
@pytest.mark.parametrize("vector", KNOWN, ids=lambda vector: str(vector["id"]))
def test_every_published_request_is_judged_as_its_publisher_says(vector: dict[str, Any]) -> None:
    if vector["kind"] == "challenge":
        greeting = examined(vector).greeting
        assert greeting is not None
        assert greeting.answer.body.decode() == vector["expected_response"]
    else:
        assert is_accepted(vector) == vector["expected_valid"]


@needs_vectors
def test_a_changed_byte_of_the_body_turns_every_valid_request_into_a_refused_one() -> None:
    valid = [vector for vector in KNOWN if vector["expected_valid"] and vector["kind"] == "request"]
    covered = [
        vector for vector in valid if PROFILES[vector["provider"]].coverage != "no" and vector["method"] == "POST"
    ]
    # SNS signs the values of fields: what stands between them may change.
    covered = [vector for vector in covered if vector["provider"] != "aws-sns"]
    assert covered
    assert not [vector["id"] for vector in covered if is_accepted(vector, body_of(vector) + b" ")]


@needs_vectors
def test_the_vectors_of_providers_that_are_not_in_the_catalogue_are_listed() -> None:
    """Not a failure: the list of what is left to do, shown with -s."""
    missing = sorted({vector["provider"] for vector in vectors()} - PROFILES.keys())
    print(f"{len(KNOWN)} of {len(vectors())} vectors run; not in the catalogue: {', '.join(missing) or 'none'}")
