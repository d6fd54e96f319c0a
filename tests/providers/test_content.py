"""Texts and sites: what is special about each."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.providers.arrivals import NOW, event, is_refused, sent, with_headers

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.req("R4")
def test_a_revision_at_sanity_is_one_event_however_often_it_comes() -> None:
    first = event("sanity", sent("sanity"))
    again = event("sanity", sent("sanity", now=NOW + 30), now=NOW + 30)
    assert first == again
    assert event("sanity", sent("sanity", type_="delete")).key == first.key  # a sibling, once it was signed anew
    assert (first.type, first.entity, first.occurred_at) == ("update", "ice-report", MIDNIGHT)


@pytest.mark.req("R4")
def test_two_changes_at_sanity_whose_projection_has_no_revision_are_two_events() -> None:
    """They have the same bytes: better one too many than one that is lost."""
    one = event("sanity", sent("sanity", {"_id": "ice-report"}))
    two = event("sanity", sent("sanity", {"_id": "ice-report"}, now=NOW + 60), now=NOW + 60)
    assert one.key != two.key


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", ["sanity", "webflow"])
def test_a_time_in_milliseconds_is_read_as_one(name: str) -> None:
    draft = sent(name)
    assert not is_refused(name, draft, now=NOW + 299)
    assert is_refused(name, draft, now=NOW + 301)


def test_a_time_of_webflow_that_was_changed_is_refused() -> None:
    draft = sent("webflow")
    later = {"x-webflow-timestamp": str(int(draft.headers["x-webflow-timestamp"]) + 1)}
    assert is_refused("webflow", with_headers(draft, later))


def test_two_changes_of_one_item_at_webflow_are_two_events_of_one_entity() -> None:
    one, two = (
        event(
            "webflow",
            sent("webflow", {"triggerType": "collection_item_changed", "payload": {"id": "i1", "lastUpdated": at}}),
        )
        for at in ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z")
    )
    assert one.key != two.key
    assert one.entity == two.entity == "i1"
    assert one.occurred_at == MIDNIGHT
