"""What teams plan with: issues, boards and cards."""

from __future__ import annotations

from landfast.providers.catalogue.units import BORN, HOUR, MINUTE
from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

LINEAR = Profile(
    name="linear",
    title="Linear",
    scheme=SignedScheme(signature="header:Linear-Signature"),
    # Linear-Delivery is not signed, and webhookTimestamp is the time of sending: a digest of the body would make each
    # attempt an event of its own.
    key="fields:type,body:createdAt,body:data | body:agentSession | body:notification",
    body_varies=True,
    type="body:type + body:action",
    entity="body:data.id | body:agentSession.id",
    occurred_at="body:createdAt",
    signed_at_place="body:webhookTimestamp",
    tolerance=MINUTE,
    redelivery=Redelivery(timeout=5, window=7 * HOUR + MINUTE, delays=(MINUTE, HOUR, 6 * HOUR), success="200"),
    samples=(
        Sample(
            type="Issue.create",
            headers={"Linear-Event": "{type.first}", "Linear-Delivery": "{id}"},
            data={
                "action": "{type.rest}",
                "type": "{type.first}",
                "createdAt": "2026-01-01T00:00:00.000Z",
                "organizationId": "00000000-0000-4000-8000-000000000041",
                "webhookId": "00000000-0000-4000-8000-000000000042",
                "webhookTimestamp": "{now.ms}",
                "data": {
                    "id": "{id}",
                    "identifier": "ICE-23",
                    "title": "The ice is thin",
                    "priority": 2,
                    "updatedAt": "2026-01-01T00:00:00.000Z",
                },
            },
        ),
    ),
    setup="Settings, API, Webhooks: the signing secret is on the webhook's page.",
    traps=(
        "The time in the header Linear-Timestamp is not signed; the one in the body is, and is checked.",
        "A webhook that keeps failing may be turned off.",
    ),
)

JIRA = Profile(
    name="jira",
    title="Jira Cloud",
    scheme=SignedScheme(signature="header:X-Hub-Signature", prefix="sha256="),
    key="body",  # X-Atlassian-Webhook-Identifier is not signed; the body holds the time of the event
    type="body:webhookEvent",
    entity="body:issue.id | body:sprint.id | body:version.id | body:project.id",
    occurred_at="body:timestamp",
    refusal=503,  # it comes again after a 5xx and few of the 4xx, and a wrong secret may be ours
    redelivery=Redelivery(ends_on="4xx other than 408, 409, 425 and 429"),
    samples=(
        Sample(
            type="jira:issue_updated",
            headers={"X-Atlassian-Webhook-Identifier": "{id}"},
            data={
                "timestamp": BORN * 1000,
                "webhookEvent": "{type}",
                "issue_event_type_name": "issue_generic",
                "user": {"accountId": "712020:landfast", "displayName": "Selma"},
                "issue": {
                    "id": "10023",
                    "key": "ICE-23",
                    "fields": {"summary": "The ice is thin", "description": "See {id}."},
                },
                "changelog": {"id": "10124", "items": [{"field": "summary", "toString": "The ice is thin"}]},
            },
        ),
    ),
    setup="System, WebHooks: choose a secret.",
    traps=(
        "The signature is in X-Hub-Signature and is SHA-256.",
        "Webhooks of Connect and OAuth apps are not signed so, and are refused here.",
    ),
)

TRELLO = Profile(
    name="trello",
    title="Trello",
    scheme=SignedScheme(
        signature="header:X-Trello-Webhook", algorithm="sha1", encoding="base64", content="{body}{url}", is_json=True
    ),
    key="body:action.id",
    type="body:action.type",
    entity="body:action.data.card.id | body:model.id",
    occurred_at="body:action.date",
    handshakes=(Handshake(method="HEAD"),),
    samples=(
        Sample(
            type="updateCard",
            id="695c0ffee1001",
            data={
                "model": {"id": "5f0c1d2e3a4b5c6d7e8f9a0b", "name": "Shore"},
                "action": {
                    "id": "{id}",
                    "idMemberCreator": "5f0c1d2e3a4b5c6d7e8f9a01",
                    "type": "{type}",
                    "date": "2026-01-01T00:00:00.000Z",
                    "data": {
                        "card": {"id": "5f0c1d2e3a4b5c6d7e8f9a02", "name": "Moor the ice", "idShort": 23},
                        "board": {"id": "5f0c1d2e3a4b5c6d7e8f9a0b", "name": "Shore"},
                    },
                },
            },
        ),
    ),
    setup="Make it through the API while Landfast runs, and say public_url. The app's OAuth secret is the secret.",
    traps=(
        "The callback URL is signed behind the body, exactly as it was registered, with its query.",
        "The secret is the OAuth secret of the app, not the API key and not a token.",
    ),
)

PROFILES = (LINEAR, JIRA, TRELLO)
