"""Pipelines, deployments, errors and incidents: what is special about each."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime

import pytest

from landfast.domain.errors import UnverifiedError
from landfast.providers.schemes.algorithms import encode
from landfast.providers.schemes.compact_token import compact
from tests.providers.arrivals import event, is_refused, sent, taken, with_headers
from tests.providers.keypairs import TEXT

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_newest_signature_that_is_known_counts_among_several() -> None:
    draft = sent("circleci")
    right = draft.headers["circleci-signature"]
    assert not is_refused("circleci", with_headers(draft, {"circleci-signature": f"{right},v2=abcd"}))
    later_only = right.replace("v1=", "v2=")
    assert is_refused("circleci", with_headers(draft, {"circleci-signature": later_only}))


@pytest.mark.req("R1")
def test_a_refusal_does_not_make_pagerduty_drop_the_event() -> None:
    draft = with_headers(sent("pagerduty"), {"X-PagerDuty-Signature": f"v1={'0' * 64}"})
    with pytest.raises(UnverifiedError) as refusal:
        taken("pagerduty", draft)
    assert refusal.value.answer.status == 503
    assert dict(refusal.value.answer.headers)[b"retry-after"]


def test_a_note_on_an_incident_is_in_the_lane_of_the_incident() -> None:
    data = {
        "event": {
            "id": "01NOTE",
            "event_type": "incident.annotated",
            "occurred_at": "2026-01-01T00:00:00.000Z",
            "data": {"id": "PNOTE01", "type": "incident_note", "incident": {"id": "PICE001"}, "content": "Thin."},
        }
    }
    found = event("pagerduty", sent("pagerduty", data))
    assert (found.key, found.entity, found.occurred_at) == ("01NOTE", "PICE001", MIDNIGHT)
    assert event("pagerduty", sent("pagerduty")).entity == "PICE001"


@pytest.mark.req("R1")
def test_a_token_of_netlify_counts_for_its_issuer_algorithm_and_body_only() -> None:
    draft = sent("netlify")
    digest = hashlib.sha256(draft.body).hexdigest()

    def is_wrong(header: dict[str, str], claims: dict[str, str]) -> bool:
        token = compact(header, json.dumps(claims).encode(), TEXT.encode())
        return is_refused("netlify", with_headers(draft, {"X-Webhook-Signature": token}))

    assert not is_wrong({"alg": "HS256"}, {"iss": "netlify", "sha256": digest})  # as it writes them: no time
    assert is_wrong({"alg": "HS256"}, {"iss": "somebody", "sha256": digest})
    assert is_wrong({"alg": "HS256"}, {"iss": "netlify", "sha256": "0" * 64})
    assert is_wrong({"alg": "HS256"}, {"iss": "netlify"})
    assert is_wrong({"alg": "HS512"}, {"iss": "netlify", "sha256": digest})
    unsigned = ".".join(encode(part, "base64url") for part in (b'{"alg":"none"}', b'{"iss":"netlify"}', b"x"))
    assert is_refused("netlify", with_headers(draft, {"X-Webhook-Signature": unsigned}))


def test_each_state_of_a_deploy_is_an_event_of_one_entity() -> None:
    one, two = (
        event("netlify", with_headers(sent("netlify", {"id": "5a1e", "state": state}), {"X-Netlify-Event": None}))
        for state in ("building", "ready")
    )
    assert one.entity == two.entity == "5a1e"
    assert one.key != two.key
    assert (one.type, two.type) == ("building", "ready")


@pytest.mark.parametrize(
    ("name", "entity"),
    [
        ("circleci", "00000000-0000-4000-8000-000000000012"),
        ("vercel", "dpl_1001"),
        ("netlify", "5a1e0c3b9d7f2468ace01357"),
        ("sentry", "4100230023"),
    ],
)
def test_entity_and_time_are_read_from_the_sample(name: str, entity: str) -> None:
    found = event(name, sent(name))
    assert (found.entity, found.occurred_at) == (entity, MIDNIGHT)
