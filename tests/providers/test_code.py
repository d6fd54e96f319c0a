"""Repositories: what is special about each."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime

import pytest

from landfast.domain.delivery import NO_SIBLINGS
from landfast.providers import provider
from tests.providers.arrivals import event, is_refused, sent, with_headers
from tests.providers.keypairs import TEXT

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


def sha1_of(body: bytes) -> str:
    return f"sha1={hmac.new(TEXT.encode(), body, hashlib.sha1).hexdigest()}"


def test_the_ping_of_a_new_webhook_at_github_is_an_event() -> None:
    assert event("github", sent("github", type_="ping")).type == "ping"


@pytest.mark.req("R1")
def test_a_right_sha1_does_not_rescue_a_wrong_sha256() -> None:
    draft = sent("github")
    alone = with_headers(draft, {"X-Hub-Signature-256": None, "X-Hub-Signature": sha1_of(draft.body)})
    assert not is_refused("github", alone)  # from servers that are older than SHA-256
    both = {"X-Hub-Signature-256": f"sha256={'0' * 64}", "X-Hub-Signature": sha1_of(draft.body)}
    assert is_refused("github", with_headers(draft, both))


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", ["bitbucket-cloud", "bitbucket-server", "jira"])
def test_a_sha1_in_the_header_that_atlassian_shares_with_github_is_refused(name: str) -> None:
    draft = sent(name)
    assert is_refused(name, with_headers(draft, {"X-Hub-Signature": sha1_of(draft.body)}))


def test_two_events_of_bitbucket_that_differ_in_their_kind_alone_share_a_key_and_the_second_is_held() -> None:
    approved = sent("bitbucket-cloud", type_="pullrequest:approved")
    updated = with_headers(approved, {"X-Event-Key": "pullrequest:updated"})
    assert event("bitbucket-cloud", approved).key == event("bitbucket-cloud", updated).key
    assert provider("bitbucket-cloud").siblings == NO_SIBLINGS


@pytest.mark.parametrize(
    ("name", "entity"),
    [
        ("bitbucket-cloud", "{5e7a1f02-3b9c-4d68-8e21-0c4f9b7a6d13}.7"),
        ("bitbucket-server", "84.7"),
        ("gitea", "31.301"),
    ],
)
def test_the_events_of_a_pull_request_or_issue_are_of_one_entity_and_have_their_time(name: str, entity: str) -> None:
    found = event(name, sent(name))
    assert (found.entity, found.occurred_at) == (entity, MIDNIGHT)


def test_a_push_at_bitbucket_data_center_is_of_its_repository() -> None:
    data = {"eventKey": "repo:refs_changed", "date": "2026-01-01T00:00:00+0000", "repository": {"id": 84}}
    found = event("bitbucket-server", sent("bitbucket-server", data))
    assert (found.type, found.entity, found.occurred_at) == ("repo:refs_changed", "84", MIDNIGHT)
