"""Zendesk, Intercom, Help Scout."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from landfast.domain.errors import UnverifiedError
from landfast.providers import provider
from tests.providers.senders import NOW, event, greeting, sample_of, signed, taken

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.req("R4")
def test_a_header_of_zendesk_that_nobody_signs_makes_no_new_event() -> None:
    data, header = sample_of("zendesk"), "X-Zendesk-Webhook-Invocation-Id"
    first = event("zendesk", data, headers={header: "01GQMFXZAW5CPVXV8GBSZ7S81E"})
    second = event("zendesk", data, headers={header: "01GQMFXZAW5CPVXV8GBSZ7S81F"}, at=NOW + 60)
    assert first.key == second.key
    assert (first.type, first.entity) == ("zen:event-type:user.created", "6596848315901")
    assert first.occurred_at == NEW_YEAR


@pytest.mark.req("R4")
def test_a_trigger_of_zendesk_that_says_the_same_twice_is_two_events() -> None:
    data = {"id": 35436, "title": "Is the ice safe?"}
    assert event("zendesk", data).key != event("zendesk", data, at=NOW + 60).key


@pytest.mark.req("R1")
def test_the_time_of_zendesk_is_signed_as_it_is_written() -> None:
    draft = signed("zendesk", sample_of("zendesk"))
    header = "X-Zendesk-Webhook-Signature-Timestamp"
    assert draft.headers[header] == "2026-01-02T03:04:05Z"
    draft.headers[header] = "2026-01-02T03:04:05+00:00"
    with pytest.raises(UnverifiedError):
        taken("zendesk", draft)


def test_intercom_asks_with_head_whether_the_address_is_there() -> None:
    answer = greeting("intercom", "HEAD", {}).answer
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.req("R4")
def test_intercom_counts_its_attempts_and_the_event_stays_the_same() -> None:
    data = sample_of("intercom")
    again = event("intercom", {**data, "delivery_attempts": 2, "delivery_status": "retry"})
    assert again.key == event("intercom", data).key == data["id"]
    assert (again.type, again.entity, again.occurred_at) == ("conversation.user.created", "301", NEW_YEAR)


@pytest.mark.req("R4")
def test_two_kinds_of_help_scout_with_one_body_are_siblings() -> None:
    data = sample_of("helpscout")
    created, tagged = (event("helpscout", data, type_=kind) for kind in ("convo.created", "convo.tags"))
    assert (created.type, tagged.type) == ("convo.created", "convo.tags")
    assert created.key == tagged.key
    assert provider("helpscout").siblings == (0.0, 4 * 3600.0)
    assert event("helpscout", data, type_="convo.tags", at=NOW + 60).key == tagged.key
    assert (created.entity, created.occurred_at) == ("1001", NEW_YEAR)
