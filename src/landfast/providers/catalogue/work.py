"""Tools that people work with."""

from __future__ import annotations

from landfast.providers.catalogue.units import BORN, DAY, HOUR
from landfast.providers.handshake import Handshake, Proof
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.token import TokenScheme

ASANA = Profile(
    name="asana",
    title="Asana",
    scheme=SignedScheme(signature="header:X-Hook-Signature"),
    key="body",  # of the event, which has no id
    type="item:resource.resource_type + item:action",
    entity="item:resource.gid",
    occurred_at="item:created_at",
    items="body:events",
    handshakes=(Handshake(when="header:X-Hook-Secret", headers={"X-Hook-Secret": "{header:X-Hook-Secret}"}),),
    redelivery=Redelivery(timeout=10, window=DAY),
    samples=(
        Sample(
            type="task.changed",
            id="1001",
            data={
                "events": [
                    {
                        "user": {"gid": "301", "resource_type": "user"},
                        "created_at": "2026-01-01T00:00:00.000Z",
                        "action": "{type.rest}",
                        "resource": {"gid": "{id}", "resource_type": "{type.first}"},
                        "parent": None,
                        "change": {"field": "due_at", "action": "changed"},
                    }
                ]
            },
        ),
    ),
    setup="Create the webhook by API while Landfast runs: it is asked back before the call returns. The answer to the "
    "call has X-Hook-Secret, which is the secret.",
    traps=(
        "Each webhook has a secret of its own, which is shown once: give the source all of them.",
        "Every eight hours an empty batch shows that the webhook is alive: it is no event.",
        "Until the secret is in the source its events are refused, and sent again for a day.",
    ),
)

NOTION = Profile(
    name="notion",
    title="Notion",
    scheme=SignedScheme(signature="header:X-Notion-Signature", prefix="sha256="),
    key="body:id",  # attempt_number changes with each attempt
    body_varies=True,
    type="body:type",
    entity="body:entity.id",
    occurred_at="body:timestamp",
    fetch_back=True,
    samples=(
        Sample(
            type="page.content_updated",
            id="367cba44-0000-4000-8000-000000001001",
            data={
                "id": "{id}",
                "timestamp": "2026-01-01T00:00:00.000Z",
                "workspace_id": "13950b26-0000-4000-8000-000000000301",
                "subscription_id": "29d75c0d-0000-4000-8000-000000000012",
                "type": "{type}",
                "authors": [{"id": "c7c11cca-0000-4000-8000-000000000001", "type": "person"}],
                "attempt_number": 1,
                "entity": {"id": "153104cd-0000-4000-8000-000000000001", "type": "page"},
                "data": {"updated_blocks": [{"id": "153104cd-0000-4000-8000-000000000002", "type": "block"}]},
            },
        ),
    ),
    setup="The integration's Webhooks: create a subscription. Notion sends a verification token to the URL: it is the "
    "secret, and is entered in the same place to confirm the URL.",
    traps=(
        "The request with the token is signed with that token, so Landfast refuses it: catch it there by other means.",
        "An event says what changed and not how: the handler asks for the page.",
    ),
)

AIRTABLE = Profile(
    name="airtable",
    title="Airtable",
    scheme=SignedScheme(
        signature="header:X-Airtable-Content-MAC",
        prefix="hmac-sha256=",
        secret="base64",  # noqa: S106 - the form of one
    ),
    key="body",
    type="always:changed",
    entity="body:webhook.id",
    occurred_at="body:timestamp",
    fetch_back=True,
    samples=(
        Sample(
            type="changed",
            id="1001",
            data={
                "base": {"id": "appLandfastSample"},
                "webhook": {"id": "achLandfast{id}"},
                "timestamp": "2026-01-01T00:00:00.000Z",
            },
        ),
    ),
    setup="Create the webhook by API: macSecretBase64 in the answer is the secret, as it is.",
    traps=(
        "A request only says that there are changes: the handler asks for them from its cursor on.",
        "The secret is base64, the signature is hexadecimal.",
    ),
)

CLICKUP = Profile(
    name="clickup",
    title="ClickUp",
    scheme=SignedScheme(signature="header:X-Signature"),
    # One change of a task is told under several types. Events of spaces and folders have no history, and say the same
    # each time.
    key="fields:type,body:webhook_id,body:history_items.0.id or arrival",
    type="body:event",
    entity="body:task_id | body:list_id | body:folder_id | body:space_id | body:goal_id",
    occurred_at="body:history_items.0.date",
    redelivery=Redelivery(timeout=7, ends_on="410"),
    samples=(
        Sample(
            type="taskStatusUpdated",
            id="2800787326392370170",
            data={
                "event": "{type}",
                "history_items": [
                    {
                        "id": "{id}",
                        "type": 1,
                        "date": str(BORN * 1000),
                        "field": "status",
                        "parent_id": "301",
                        "user": {"id": 12, "username": "Selma", "email": "selma@example.com"},
                        "before": {"status": "to do"},
                        "after": {"status": "in progress"},
                    }
                ],
                "task_id": "1vj38vv",
                "webhook_id": "7fa3ec74-0000-4000-8000-000000000001",
            },
        ),
    ),
    setup="Create the webhook by API: webhook.secret in the answer is the secret.",
    traps=(
        "A change of a task is often told twice, as taskUpdated and under its own type: subscribe to one of them.",
        "Spaces, folders and goals have no history: there every arrival is an event.",
    ),
)

MICROSOFT_GRAPH = Profile(
    name="microsoft-graph",
    title="Microsoft Graph",
    scheme=TokenScheme(token="item:clientState", items="body:value"),  # noqa: S106 - where one stands
    key="item:id or arrival",  # the id is optional, and a drive says the same each time
    type="item:changeType | item:lifecycleEvent",
    entity="item:resourceData.id | item:resource",
    items="body:value",
    handshakes=(Handshake(when="query:validationToken", text="{query:validationToken}"),),
    redelivery=Redelivery(timeout=3, window=4 * HOUR),
    fetch_back=True,
    samples=(
        Sample(
            type="updated",
            id="AAMkLandfast1001",
            data={
                "value": [
                    {
                        "subscriptionId": "7f105c7d-0000-4000-8000-000000000001",
                        "subscriptionExpirationDateTime": "2026-01-03T00:00:00.0000000Z",
                        "changeType": "{type}",
                        "resource": "Users/301/Messages/{id}",
                        "resourceData": {"@odata.type": "#Microsoft.Graph.Message", "id": "{id}"},
                        "tenantId": "84bd8158-0000-4000-8000-000000000001",
                    }
                ]
            },
        ),
    ),
    setup="Create the subscription while Landfast runs, with a long random clientState: that is the secret.",
    traps=(
        "clientState is sent in clear and proves no body: ask Graph for what changed.",
        "Few resources name an id for the notification: without one every arrival is an event.",
        "Slow answers are punished: Graph first delays notifications, and then drops them.",
    ),
)

HUBSPOT = Profile(
    name="hubspot",
    title="HubSpot",
    scheme=AnyOf(
        SignedScheme(
            signature="header:X-HubSpot-Signature-v3",
            encoding="base64",
            content="{method}{url_unescaped}{body}{timestamp}",
            is_json=True,
            timestamp="header:X-HubSpot-Request-Timestamp",
            timestamp_unit="ms",
        ),
        SignedScheme(
            signature="header:X-HubSpot-Signature",
            algorithm="plain-sha256",
            content="{secret}{method}{url}{body}",
            is_json=True,
            require={"X-HubSpot-Signature-Version": "v2"},
        ),
        SignedScheme(
            signature="header:X-HubSpot-Signature",
            algorithm="plain-sha256",
            content="{secret}{body}",
            is_json=True,
            require={"X-HubSpot-Signature-Version": "v1"},
        ),
    ),
    # Ids are not promised to be unique, and attemptNumber changes with each attempt.
    key="fields:item:eventId,item:subscriptionId,item:objectId,item:occurredAt",
    body_varies=True,
    type="item:subscriptionType",
    entity="item:objectId",
    occurred_at="item:occurredAt",
    items="body",
    samples=(
        Sample(
            type="contact.propertyChange",
            id="1001",
            data=[
                {
                    "eventId": "{id}",
                    "subscriptionId": 12,
                    "portalId": 62515,
                    "occurredAt": BORN * 1000,
                    "subscriptionType": "{type}",
                    "attemptNumber": 0,
                    "objectId": 301,
                    "propertyName": "email",
                    "propertyValue": "selma@example.com",
                }
            ],
        ),
    ),
    setup="The app's webhooks take the URL; the app's client secret is the secret. Say public_url in the source.",
    traps=("The exact public URL is signed.", "Versions 1 and 2 of the signature are plain hashes: prefer 3."),
)

ZOOM = Profile(
    name="zoom",
    title="Zoom",
    scheme=SignedScheme(
        signature="header:x-zm-signature",
        content="v0:{timestamp}:{body}",
        prefix="v0=",
        timestamp="header:x-zm-request-timestamp",
    ),
    key="body",
    type="body:event",
    entity="body:payload.object.uuid | body:payload.object.id",
    occurred_at="body:event_ts",
    handshakes=(
        Handshake(
            when="body:event=endpoint.url_validation",
            is_signed=True,
            json={
                "plainToken": "{body:payload.plainToken}",
                "encryptedToken": Proof(of="{body:payload.plainToken}"),
            },
        ),
    ),
    redelivery=Redelivery(timeout=3),
    samples=(
        Sample(
            type="meeting.started",
            data={
                "event": "{type}",
                "event_ts": BORN * 1000,
                "payload": {
                    "account_id": "LANDFASTSAMPLE",
                    "object": {"id": "1001", "uuid": "{id}", "topic": "Ice report"},
                },
            },
        ),
    ),
    setup="The app's Feature page: add the URL while Landfast runs and validate it. Its secret token is the secret.",
    traps=("The URL is asked for again every 72 hours.",),
)

PROFILES = (ASANA, NOTION, AIRTABLE, CLICKUP, MICROSOFT_GRAPH, HUBSPOT, ZOOM)
