"""Asana, Notion, Airtable, ClickUp, Microsoft Graph, HubSpot."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime

import pytest

from landfast.domain.errors import UnverifiedError
from landfast.providers import provider
from tests.providers.senders import NOW, event, events, greeting, sample_of, signed, source_of, taken

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def test_asana_gets_its_secret_back_in_a_header_and_no_body() -> None:
    answer = greeting("asana", "POST", {}, {"X-Hook-Secret": "b537207f20cbfa02357cf448134da559"}).answer
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers == ((b"x-hook-secret", b"b537207f20cbfa02357cf448134da559"),)


def test_an_event_of_asana_has_the_type_entity_and_time_of_its_resource() -> None:
    (found,) = events("asana", sample_of("asana"))
    assert (found.type, found.entity, found.occurred_at) == ("task.changed", "1001", NEW_YEAR)


@pytest.mark.req("R4")
def test_a_batch_of_asana_in_another_request_brings_the_same_events_and_an_empty_one_none() -> None:
    first, second = sample_of("asana")["events"][0], sample_of("asana", id="1002")["events"][0]
    both = events("asana", {"events": [first, second]})
    assert [found.entity for found in both] == ["1001", "1002"]
    assert both[0].key != both[1].key
    assert [found.key for found in events("asana", {"events": [second]})] == [both[1].key]
    assert events("asana", {"events": []}) == []


@pytest.mark.req("R4")
def test_notion_counts_its_attempts_and_the_event_stays_the_same() -> None:
    data = sample_of("notion")
    again = event("notion", {**data, "attempt_number": 2})
    assert again.key == event("notion", data).key == data["id"]
    assert (again.type, again.entity, again.occurred_at) == ("page.content_updated", data["entity"]["id"], NEW_YEAR)


@pytest.mark.req("R1")
def test_a_token_that_anybody_could_send_does_not_verify_itself() -> None:
    token = "secret_of_a_stranger_long_enough"
    body = json.dumps({"verification_token": token}).encode()
    draft = signed("notion", {})
    draft.body = body
    draft.headers["X-Notion-Signature"] = "sha256=" + hmac.new(token.encode(), body, hashlib.sha256).hexdigest()
    with pytest.raises(UnverifiedError):
        taken("notion", draft)


def test_the_secret_of_airtable_is_base64_and_its_signature_hexadecimal() -> None:
    profile = provider("airtable")
    key = profile.decode_secret(base64.b64encode(b"thirty-two bytes, more or less..").decode())
    assert key == b"thirty-two bytes, more or less.."
    found = event("airtable", sample_of("airtable"))
    assert (found.type, found.entity, found.occurred_at) == ("changed", "achLandfast1001", NEW_YEAR)


def test_the_library_for_airtable_agrees_with_what_we_sign() -> None:
    notification = pytest.importorskip("pyairtable.models.webhook").WebhookNotification
    draft = signed("airtable", sample_of("airtable"))
    header, key = draft.headers["X-Airtable-Content-MAC"], source_of("airtable").secrets[0].key
    assert notification.from_request(draft.body.decode(), header, key).webhook.id == "achLandfast1001"
    with pytest.raises(ValueError, match="X-Airtable-Content-MAC"):
        notification.from_request(draft.body.decode() + " ", header, key)


@pytest.mark.req("R4")
def test_a_change_that_clickup_tells_under_two_types_is_two_events_and_each_redelivery_none() -> None:
    data = sample_of("clickup")
    own, general = event("clickup", data), event("clickup", {**data, "event": "taskUpdated"})
    assert own.key != general.key
    assert event("clickup", data, at=NOW + 60).key == own.key
    assert (own.type, own.entity, own.occurred_at) == ("taskStatusUpdated", "1vj38vv", NEW_YEAR)


@pytest.mark.req("R4")
def test_a_space_of_clickup_that_changes_twice_is_two_events() -> None:
    data = {"event": "spaceUpdated", "space_id": "54650507", "webhook_id": "7fa3ec74"}
    first, second = event("clickup", data), event("clickup", data, at=NOW + 60)
    assert first.key != second.key
    assert first.entity == second.entity == "54650507"


def test_graph_gets_its_token_back_decoded_and_as_plain_text() -> None:
    answer = greeting("microsoft-graph", "POST", {"validationToken": "Validation: Testing <client> 1+1"}).answer
    assert (answer.status, answer.body) == (200, b"Validation: Testing <client> 1+1")
    assert answer.content_type.startswith(b"text/plain")


@pytest.mark.req("R1")
def test_one_notification_of_graph_with_another_state_refuses_the_whole_request() -> None:
    (one,) = sample_of("microsoft-graph")["value"]
    draft = signed("microsoft-graph", {"value": [one, one]})
    assert len(taken("microsoft-graph", draft)) == 2
    data = json.loads(draft.body)
    data["value"][1]["clientState"] = "somebody else's"
    draft.body = json.dumps(data).encode()
    with pytest.raises(UnverifiedError):
        taken("microsoft-graph", draft)


@pytest.mark.req("R4")
def test_a_notification_of_graph_is_known_by_its_id_and_without_one_by_its_arrival() -> None:
    (one,) = sample_of("microsoft-graph")["value"]
    named = {"value": [{**one, "id": "lsgTZMr9KwAAA"}]}
    assert event("microsoft-graph", named).key == event("microsoft-graph", named, at=NOW + 60).key == "lsgTZMr9KwAAA"
    unnamed = {"value": [one]}
    assert event("microsoft-graph", unnamed).key != event("microsoft-graph", unnamed, at=NOW + 60).key
    assert event("microsoft-graph", unnamed).entity == one["resourceData"]["id"]


def test_what_graph_says_of_the_subscription_itself_has_a_type_too() -> None:
    (one,) = sample_of("microsoft-graph")["value"]
    del one["changeType"]
    found = event("microsoft-graph", {"value": [{**one, "lifecycleEvent": "reauthorizationRequired"}]})
    assert found.type == "reauthorizationRequired"


@pytest.mark.req("R4")
def test_hubspot_counts_its_attempts_and_the_event_stays_the_same() -> None:
    (one,) = sample_of("hubspot")
    again = event("hubspot", [{**one, "attemptNumber": 3}])
    assert again.key == event("hubspot", [one]).key
    assert (again.type, again.entity, again.occurred_at) == ("contact.propertyChange", "301", NEW_YEAR)
    other = event("hubspot", [{**one, "subscriptionId": 13}])
    assert other.key != again.key


def test_hubspots_own_library_agrees_with_what_we_sign() -> None:
    signature = pytest.importorskip("hubspot.utils.signature").Signature
    draft = signed("hubspot", sample_of("hubspot"))
    given = {
        "client_secret": "a secret of the sender, long enough",
        "request_body": draft.body.decode(),
        "http_uri": draft.url,
        "http_method": "POST",
        "signature_version": "v3",
        "timestamp": draft.headers["X-HubSpot-Request-Timestamp"],
    }
    assert signature.get_signature(**given) == draft.headers["X-HubSpot-Signature-v3"]
