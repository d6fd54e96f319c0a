"""Accounts, logins and who people are: what is special about each, and their own libraries as a second opinion."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import examine
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.providers.request import Draft
from landfast.providers.schemes.compact_token import compact
from tests.providers.arrivals import NOW, asked, event, is_refused, sent, taken, with_headers
from tests.providers.keypairs import STANDARD, TEXT, pair

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.req("R54")
def test_okta_gets_its_challenge_back_as_json() -> None:
    greeting = asked("okta", "GET", {"X-Okta-Verification-Challenge": "ice-1001"}).greeting
    assert greeting is not None
    assert (greeting.answer.status, greeting.answer.body) == (200, b'{"verification":"ice-1001"}')


def log(id_: str, type_: str) -> dict[str, Any]:
    return {"log_id": id_, "data": {"type": type_, "date": "2026-01-01T00:00:00.000Z", "user_id": "auth0|1"}}


@pytest.mark.req("R4")
def test_each_log_record_of_auth0_is_an_event_with_its_own_key_and_bytes() -> None:
    records = [log("9001", "s"), log("9002", "slo")]
    found = taken("auth0", sent("auth0", records)).identities
    assert [(each.key, each.type, each.entity) for each in found] == [
        ("9001", "s", "auth0|1"),
        ("9002", "slo", "auth0|1"),
    ]
    assert [json.loads(each.body or b"") for each in found] == records
    assert {each.occurred_at for each in found} == {MIDNIGHT}


@pytest.mark.req("R4")
def test_a_log_record_of_auth0_is_the_same_event_alone_and_in_a_list() -> None:
    alone, listed = event("auth0", sent("auth0", log("9001", "s"))), event("auth0", sent("auth0", [log("9001", "s")]))
    assert (alone.key, alone.type, alone.entity) == (listed.key, listed.type, listed.entity) == ("9001", "s", "auth0|1")


def test_the_space_before_the_signature_of_workos_is_read() -> None:
    draft = sent("workos")
    assert ", v1=" in draft.headers["WorkOS-Signature"]
    assert not is_refused("workos", draft, now=NOW + 179)
    assert is_refused("workos", draft, now=NOW + 181)


def token(draft: Draft, algorithm: str, key: bytes, **claims: str) -> Draft:
    digest = base64.b64encode(hashlib.sha256(draft.body).digest()).decode()
    payload = json.dumps({"request_body_sha256": digest} | claims).encode()
    return with_headers(draft, {"X-FusionAuth-Signature-JWT": compact({"alg": algorithm}, payload, key)})


def is_taken(draft: Draft, secret: str) -> bool:
    profile = provider("fusionauth")
    source = Source("source", profile, (Secret("key", profile.decode_secret(secret)),))
    try:
        examine(source, draft.head(), draft.body, now=datetime.fromtimestamp(NOW, UTC))
    except UnverifiedError:
        return False
    return True


@pytest.mark.req("R1")
@pytest.mark.parametrize(("algorithm", "kind"), [("RS256", "rsa"), ("ES256", "ecdsa"), ("EdDSA", "ed25519")])
def test_fusionauth_may_sign_with_a_private_key_and_its_public_one_is_no_secret(algorithm: str, kind: str) -> None:
    private, public = pair(kind)
    draft = sent("fusionauth")
    assert is_taken(token(draft, algorithm, private.encode()), public)
    assert not is_taken(token(draft, algorithm, private.encode()), TEXT)
    assert not is_taken(token(draft, "HS256", public.encode()), public)


@pytest.mark.req("R1")
@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_fusionauth_writes_the_digest_of_the_body_in_base64(algorithm: str) -> None:
    draft = sent("fusionauth")
    assert is_taken(token(draft, algorithm, TEXT.encode()), TEXT)
    in_hex = hashlib.sha256(draft.body).hexdigest()
    assert not is_taken(token(draft, algorithm, TEXT.encode(), request_body_sha256=in_hex), TEXT)


@pytest.mark.req("R4")
def test_a_check_of_onfido_that_is_completed_again_is_another_event() -> None:
    def completed(at: str, **more: str) -> str:
        object_ = {"id": "c1", "status": "complete", "completed_at_iso8601": at, **more}
        return event("onfido", sent("onfido", {"payload": {"action": "check.completed", "object": object_}})).key

    assert completed("2026-01-01T00:00:00Z") != completed("2026-01-02T00:00:00Z")
    assert completed("2026-01-01T00:00:00Z") == completed("2026-01-01T00:00:00Z", href="https://elsewhere.example")


@pytest.mark.req("R1", "R4")
@pytest.mark.parametrize(("name", "header"), [("clerk", "svix-id"), ("finch", "Finch-Event-Id")])
def test_an_id_that_is_signed_is_the_key(name: str, header: str) -> None:
    draft = sent(name, id_="msg_1")
    assert event(name, draft).key == "msg_1"
    assert is_refused(name, with_headers(draft, {header: "msg_2"}))


@pytest.mark.parametrize(
    ("name", "entity"),
    [
        ("clerk", "user_landfast1001"),
        ("workos", "directory_user_landfast1001"),
        ("fusionauth", "00000000-0000-4000-8000-000000000052"),
        ("onfido", "00000000-0000-4000-8000-000000001001"),
    ],
)
def test_entity_and_time_are_read_from_the_sample(name: str, entity: str) -> None:
    found = event(name, sent(name))
    assert (found.entity, found.occurred_at) == (entity, MIDNIGHT)


def test_what_we_sign_for_workos_passes_its_own_library() -> None:
    webhooks = pytest.importorskip("workos.webhooks._verification")
    draft = sent("workos", now=time.time())  # the library asks the clock itself
    header = draft.headers["WorkOS-Signature"]
    webhooks.verify_header(event_body=draft.body, event_signature=header, secret=TEXT)
    with pytest.raises(ValueError, match=r"(?i)signature"):
        webhooks.verify_header(event_body=draft.body + b" ", event_signature=header, secret=TEXT)


def test_what_we_sign_for_finch_passes_its_own_library() -> None:
    finch = pytest.importorskip("finch")
    client = finch.Finch(access_token="none")
    draft = sent("finch", now=time.time())
    secret = STANDARD.removeprefix("whsec_")
    client.webhooks.verify_signature(draft.body, draft.headers, secret=secret)
    with pytest.raises(ValueError, match="signature"):
        client.webhooks.verify_signature(draft.body + b" ", draft.headers, secret=secret)


def test_what_we_sign_for_onfido_passes_its_own_library() -> None:
    onfido = pytest.importorskip("onfido")
    verifier = onfido.WebhookEventVerifier(TEXT)
    draft = sent("onfido")
    header = draft.headers["X-SHA2-Signature"]
    assert verifier.read_payload(draft.body.decode(), header).payload.action == "check.completed"
    with pytest.raises(onfido.OnfidoInvalidSignatureError):
        verifier.read_payload(draft.body.decode() + " ", header)
