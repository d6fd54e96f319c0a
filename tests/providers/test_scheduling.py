"""Calendly, Cal.com, Acuity."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from landfast.domain.errors import UnverifiedError
from tests.providers.senders import NOW, event, sample_of, signed, taken

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.req("R4")
def test_an_invitee_who_is_created_and_canceled_is_two_events_of_one_appointment() -> None:
    data = sample_of("calendly")
    created, canceled = event("calendly", data), event("calendly", {**data, "event": "invitee.canceled"})
    assert created.key != canceled.key
    assert created.entity == canceled.entity == "https://api.calendly.com/scheduled_events/TOUR01"
    assert (created.type, created.occurred_at) == ("invitee.created", NEW_YEAR)


@pytest.mark.req("R4")
def test_a_redelivery_of_calendly_is_signed_anew_and_the_event_the_same() -> None:
    data = sample_of("calendly")
    assert event("calendly", data, at=NOW + 3_600).key == event("calendly", data).key


@pytest.mark.req("R1")
def test_calendly_is_given_three_minutes() -> None:
    draft = signed("calendly", sample_of("calendly"))
    assert taken("calendly", draft, at=NOW + 179)
    with pytest.raises(UnverifiedError, match="181 s before our clock"):
        taken("calendly", draft, at=NOW + 181)


def test_a_booking_of_cal_com_is_read_right() -> None:
    found = event("cal-com", sample_of("cal-com"))
    assert (found.type, found.entity, found.occurred_at) == ("BOOKING_CREATED", "bk1001LandfastSample", NEW_YEAR)


@pytest.mark.req("R1")
def test_cal_com_without_a_secret_is_refused() -> None:
    draft = signed("cal-com", sample_of("cal-com"))
    draft.headers["X-Cal-Signature-256"] = "no-secret-provided"
    with pytest.raises(UnverifiedError):
        taken("cal-com", draft)


@pytest.mark.req("R4")
def test_an_appointment_of_acuity_that_changes_twice_is_two_events() -> None:
    data = {**sample_of("acuity"), "action": "changed"}
    first, second = event("acuity", data), event("acuity", data, at=NOW + 60)
    assert first.key != second.key
    assert (first.type, first.entity) == (second.type, second.entity) == ("changed", "1001")
