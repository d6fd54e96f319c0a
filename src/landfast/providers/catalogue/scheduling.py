"""Appointments."""

from __future__ import annotations

from landfast.providers.catalogue.units import DAY, MINUTE
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

CALENDLY = Profile(
    name="calendly",
    title="Calendly",
    scheme=SignedScheme(
        signature="header:Calendly-Webhook-Signature",
        content="{timestamp}.{body}",
        separator=",",
        prefix="v1=",
        timestamp="entry:t=",
    ),
    key="fields:type,body:payload.uri,body:created_at",
    type="body:event",
    entity="body:payload.scheduled_event.uri | body:payload.uri",
    occurred_at="body:created_at",
    tolerance=3 * MINUTE,  # what Calendly recommends
    redelivery=Redelivery(window=DAY),
    samples=(
        Sample(
            type="invitee.created",
            id="INVITEE1001",
            data={
                "created_at": "2026-01-01T00:00:00.000000Z",
                "created_by": "https://api.calendly.com/users/PILOT01",
                "event": "{type}",
                "payload": {
                    "uri": "https://api.calendly.com/scheduled_events/TOUR01/invitees/{id}",
                    "name": "Selma Holm",
                    "email": "selma@example.com",
                    "status": "active",
                    "rescheduled": False,
                    "scheduled_event": {
                        "uri": "https://api.calendly.com/scheduled_events/TOUR01",
                        "name": "Harbour tour",
                        "start_time": "2026-02-01T09:00:00.000000Z",
                    },
                },
            },
        ),
    ),
    setup="Create the webhook subscription by API with a signing_key of your own: that is the secret.",
    traps=(
        "A subscription without a signing key sends no signature, and is refused.",
        "Who reschedules causes two events: one cancels, the other creates.",
        "After a day of failures the subscription is disabled, and must be created again.",
    ),
)

CAL_COM = Profile(
    name="cal-com",
    title="Cal.com",
    scheme=SignedScheme(signature="header:X-Cal-Signature-256"),
    key="body",
    type="body:triggerEvent",
    entity="body:payload.uid | body:uid",
    occurred_at="body:createdAt",
    samples=(
        Sample(
            type="BOOKING_CREATED",
            id="bk1001LandfastSample",
            data={
                "triggerEvent": "{type}",
                "createdAt": "2026-01-01T00:00:00.000Z",
                "payload": {
                    "uid": "{id}",
                    "type": "harbour-tour",
                    "title": "Harbour tour with Selma",
                    "startTime": "2026-02-01T09:00:00Z",
                    "endTime": "2026-02-01T10:00:00Z",
                    "attendees": [{"email": "selma@example.com", "name": "Selma Holm", "timeZone": "Europe/Oslo"}],
                    "status": "ACCEPTED",
                },
            },
        ),
    ),
    setup="Settings, Developer, Webhooks: enter the URL and choose a secret.",
    traps=(
        "Without a secret the header says so instead of holding a signature: such requests are refused.",
        "A payload template of your own must keep triggerEvent, or events have no type.",
    ),
)

ACUITY = Profile(
    name="acuity",
    title="Acuity Scheduling",
    scheme=SignedScheme(signature="header:X-Acuity-Signature", encoding="base64"),
    key="arrival",  # `changed` says the same each time that the same appointment changes
    type="body:action",
    entity="body:id",
    fetch_back=True,
    samples=(
        Sample(
            type="appointment.scheduled",
            id="1001",
            is_form=True,
            data={"action": "{type}", "id": "{id}", "calendarID": "301", "appointmentTypeID": "12"},
        ),
    ),
    setup="Integrations, Webhooks, or the webhooks of the API; the account's API key is the secret.",
    traps=(
        "Only ids are sent: the handler has to ask for the appointment.",
        "Nothing tells a redelivery from a second change: every arrival is an event.",
        "Webhooks of the settings page say scheduled, those of the API appointment.scheduled.",
    ),
)

PROFILES = (CALENDLY, CAL_COM, ACUITY)
