"""Issues, boards and cards: what is special about each."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from landfast.domain.errors import UnverifiedError
from landfast.providers.signing import sample, signed_request
from tests.providers.arrivals import NOW, URL, asked, event, is_refused, sent, taken, with_headers
from tests.providers.keypairs import TEXT

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


def issue(**changes: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(sample("linear", now=NOW))
    return data | changes


@pytest.mark.req("R4")
def test_an_attempt_of_linear_that_is_stamped_anew_is_the_same_event() -> None:
    """The time of sending is in the body."""
    first = event("linear", sent("linear"))
    later = event("linear", sent("linear", now=NOW + 3600), now=NOW + 3600)
    assert later == first
    assert (first.type, first.entity, first.occurred_at) == ("Issue.create", "sample_1001", MIDNIGHT)


def test_two_changes_of_linear_at_one_moment_are_two_events() -> None:
    one, two = (event("linear", sent("linear", issue(data={"id": id_}))) for id_ in ("a", "b"))
    again = event("linear", sent("linear", issue(data={"id": "a"}, action="update")))
    assert len({one.key, two.key, again.key}) == 3


def test_an_agents_session_at_linear_has_a_key_that_outlives_the_attempt() -> None:
    def session(at: float) -> dict[str, Any]:
        data = issue(type="AgentSessionEvent", action="created", agentSession={"id": "s1"}, webhookTimestamp=at * 1000)
        del data["data"]
        return data

    first, later = event("linear", sent("linear", session(NOW))), event("linear", sent("linear", session(NOW + 30)))
    assert first == later
    assert (first.type, first.entity) == ("AgentSessionEvent.created", "s1")


@pytest.mark.req("R1")
def test_an_old_request_of_linear_is_refused_whatever_its_unsigned_header_says() -> None:
    draft = sent("linear")
    assert not is_refused("linear", draft, now=NOW + 59)
    fresh = {"Linear-Timestamp": str(int((NOW + 61) * 1000))}
    assert is_refused("linear", with_headers(draft, fresh), now=NOW + 61)


@pytest.mark.req("R54")
def test_trello_gets_its_empty_200_to_a_head() -> None:
    greeting = asked("trello", "HEAD", {}).greeting
    assert greeting is not None
    assert (greeting.answer.status, greeting.answer.body) == (200, b"")


@pytest.mark.req("R1")
def test_trello_signs_the_url_with_its_query() -> None:
    body = sample("trello")
    registered = f"{URL}?board=1"
    draft = signed_request("trello", body, TEXT, now=NOW, url=registered)
    assert not is_refused("trello", draft, url=registered)
    draft.url = f"{URL}?board=2"
    assert is_refused("trello", draft, url=registered)
    draft.url = URL
    assert is_refused("trello", draft, url=registered)


def test_a_refusal_makes_jira_come_again() -> None:
    with pytest.raises(UnverifiedError) as refusal:
        taken("jira", with_headers(sent("jira"), {"X-Hub-Signature": f"sha256={'0' * 64}"}))
    assert refusal.value.answer.status == 503


@pytest.mark.parametrize(("name", "entity"), [("jira", "10023"), ("trello", "5f0c1d2e3a4b5c6d7e8f9a02")])
def test_entity_and_time_are_read_from_the_sample(name: str, entity: str) -> None:
    found = event(name, sent(name))
    assert (found.entity, found.occurred_at) == (entity, MIDNIGHT)
