"""Talking with customers."""

from __future__ import annotations

from landfast.providers.catalogue.units import BORN, HOUR
from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

ZENDESK = Profile(
    name="zendesk",
    title="Zendesk",
    scheme=SignedScheme(
        signature="header:X-Zendesk-Webhook-Signature",
        encoding="base64",
        content="{timestamp}{body}",
        timestamp="header:X-Zendesk-Webhook-Signature-Timestamp",
        timestamp_unit="iso",
    ),
    # The header with the id of the invocation is not signed. The body of a trigger is whatever its author wrote: two
    # events may have the same.
    key="fields:type,body:id,body:time or arrival",
    type="body:type",
    entity="body:detail.id",
    occurred_at="body:time",
    samples=(
        Sample(
            type="zen:event-type:user.created",
            id="01LANDFASTSAMPLE0000001001",
            data={
                "account_id": 301,
                "detail": {"id": "6596848315901", "email": "selma@example.com", "role": "end-user"},
                "event": {},
                "id": "{id}",
                "subject": "zen:user:6596848315901",
                "time": "2026-01-01T00:00:00Z",
                "type": "{type}",
                "zendesk_event_version": "2022-11-06",
            },
        ),
    ),
    setup="Apps and integrations, Webhooks: create one. Its signing secret is shown in its details.",
    traps=(
        "A trigger sends the body that you write: give it an id, a time and a type, or every arrival is an event.",
        "The test of a webhook that is not saved yet is signed with a secret that everybody knows: it is refused.",
    ),
)

INTERCOM = Profile(
    name="intercom",
    title="Intercom",
    scheme=SignedScheme(signature="header:X-Hub-Signature", algorithm="sha1", prefix="sha1="),
    key="body:id",  # delivery_attempts changes with each attempt
    body_varies=True,
    type="body:topic",
    entity="body:data.item.id",
    occurred_at="body:created_at",
    handshakes=(Handshake(method="HEAD"),),
    redelivery=Redelivery(timeout=5),
    samples=(
        Sample(
            type="conversation.user.created",
            id="notif_00000000-0000-4000-8000-000000001001",
            data={
                "type": "notification_event",
                "app_id": "pier01",
                "data": {
                    "type": "notification_event_data",
                    "item": {"type": "conversation", "id": "301", "state": "open", "created_at": BORN},
                },
                "id": "{id}",
                "topic": "{type}",
                "delivery_status": "pending",
                "delivery_attempts": 1,
                "delivered_at": 0,
                "first_sent_at": BORN,
                "created_at": BORN,
            },
        ),
    ),
    setup="Developer Hub, your app, Webhooks: enter the URL while Landfast runs. The client secret is the secret.",
    traps=(
        "The header is that of GitHub's old signature: HMAC with SHA-1.",
        "The body counts the attempts, so no two deliveries are the same bytes.",
    ),
)

HELPSCOUT = Profile(
    name="helpscout",
    title="Help Scout",
    scheme=SignedScheme(signature="header:X-HelpScout-Signature", algorithm="sha1", encoding="base64"),
    key="body",
    type="header:X-HelpScout-Event",
    type_letters=r"[a-z_-]{1,32}(\.[a-z_-]{1,32}){1,5}",
    # A conversation that is created, tagged and assigned at once is sent three times in the same words.
    siblings=(0.0, 4 * HOUR),
    entity="body:id",
    occurred_at="body:userUpdatedAt | body:createdAt",
    time_of_object=True,
    samples=(
        Sample(
            type="convo.created",
            id="1001",
            headers={"X-HelpScout-Event": "{type}"},
            data={
                "id": "{id}",
                "number": 12,
                "subject": "Is the ice safe?",
                "status": "active",
                "createdAt": "2026-01-01T00:00:00Z",
                "userUpdatedAt": "2026-01-01T00:00:00Z",
            },
        ),
    ),
    setup="Manage, Apps, Webhooks: enter the URL and a secret key of at most 40 characters.",
    traps=(
        "The kind of event stands in a header that is not signed.",
        "There is no id: the digest of the body is the key.",
    ),
)

PROFILES = (ZENDESK, INTERCOM, HELPSCOUT)
