"""Accounts and logins, and who people are."""

from __future__ import annotations

from landfast.providers.catalogue.infrastructure import SVIX_REDELIVERY, standard_scheme, svix_scheme
from landfast.providers.catalogue.units import BORN, MINUTE
from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.compact_token import NAMES
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.token import TokenScheme

OKTA = Profile(
    name="okta",
    title="Okta event hooks",
    scheme=TokenScheme(token="header:Authorization"),  # noqa: S106 - where one stands
    key="item:uuid",
    type="item:eventType",
    entity="item:target.0.id",
    occurred_at="item:published",
    items="body:data.events",
    handshakes=(
        Handshake(
            method="GET",
            when="header:X-Okta-Verification-Challenge",
            json={"verification": "{header:X-Okta-Verification-Challenge}"},
        ),
    ),
    refusal=503,  # it never comes again after a 4xx, and once after a 5xx: a wrong secret may be ours
    redelivery=Redelivery(timeout=3, ends_on="4xx"),
    samples=(
        Sample(
            type="user.lifecycle.create",
            data={
                "eventType": "com.okta.event_hook",
                "eventId": "hook-{id}",
                "data": {
                    "events": [
                        {
                            "uuid": "{id}",
                            "eventType": "{type}",
                            "published": "2026-01-01T00:00:00.000Z",
                            "target": [{"id": "00uLANDFAST01", "type": "User"}],
                        }
                    ]
                },
            },
        ),
    ),
    setup="Workflow, Event Hooks: choose a secret as the Authorization header. Verify the URL while Landfast runs.",
    traps=("The header is sent in clear and proves no body: take requests over TLS only.",),
)

AUTH0 = Profile(
    name="auth0",
    title="Auth0 log streams",
    scheme=TokenScheme(token="header:Authorization"),  # noqa: S106 - where one stands
    key="item:log_id | body:log_id",
    type="item:data.type | body:data.type",
    entity="item:data.user_id | body:data.user_id",
    occurred_at="item:data.date | body:data.date",
    items="body",
    samples=(
        Sample(
            type="ss",
            data=[
                {
                    "log_id": "{id}",
                    "data": {
                        "date": "2026-01-01T00:00:00.000Z",
                        "type": "{type}",
                        "description": "",
                        "connection": "Username-Password-Authentication",
                        "client_name": "Shore",
                        "user_id": "auth0|landfast1001",
                        "user_name": "selma@example.com",
                    },
                }
            ],
        ),
    ),
    setup="Monitoring, Streams, Custom Webhook: choose JSON Array. The whole authorization token is the secret.",
    traps=(
        "With the content format JSON Lines the body is no JSON, and many events come as one that no handler can read.",
        "The token is sent in clear and proves no body: take requests over TLS only.",
        "Types are the short codes of the tenant's log: s is a login, ss a signup.",
    ),
)

CLERK = Profile(
    name="clerk",
    title="Clerk",
    scheme=svix_scheme(),
    key="signed:id",
    type="body:type",
    entity="body:data.id",
    occurred_at="body:timestamp",
    redelivery=SVIX_REDELIVERY,
    samples=(
        Sample(
            type="user.created",
            id="msg_landfast1001",
            data={
                "type": "{type}",
                "object": "event",
                "timestamp": BORN * 1000,
                "instance_id": "ins_landfast",
                "data": {
                    "id": "user_landfast1001",
                    "object": "user",
                    "first_name": "Selma",
                    "email_addresses": [{"id": "idn_landfast1001", "email_address": "selma@example.com"}],
                    "created_at": BORN * 1000,
                    "updated_at": BORN * 1000,
                },
            },
        ),
    ),
    setup="Configure, Webhooks, Add Endpoint: the signing secret starts with whsec_.",
    traps=("It sends through Svix, whose headers are named svix-id and so on.",),
)

WORKOS = Profile(
    name="workos",
    title="WorkOS",
    scheme=SignedScheme(
        signature="header:WorkOS-Signature",
        content="{timestamp}.{body}",
        separator=", ",
        prefix="v1=",
        timestamp="entry:t=",
        timestamp_unit="ms",
    ),
    key="body:id",
    type="body:event",
    entity="body:data.id",
    occurred_at="body:created_at",
    tolerance=3 * MINUTE,
    samples=(
        Sample(
            type="dsync.user.created",
            id="event_landfast1001",
            data={
                "id": "{id}",
                "event": "{type}",
                "created_at": "2026-01-01T00:00:00.000Z",
                "data": {
                    "object": "directory_user",
                    "id": "directory_user_landfast1001",
                    "directory_id": "directory_landfast",
                    "state": "active",
                    "email": "selma@example.com",
                },
            },
        ),
    ),
    setup="Webhooks, Create Webhook: the secret is on the endpoint's page.",
    traps=("The time in the signature is in milliseconds, and a space stands before v1.",),
)

FUSIONAUTH = Profile(
    name="fusionauth",
    title="FusionAuth",
    # The algorithm is that of the key that the operator chose: a text is for HMAC, a public key for the others.
    scheme=JwtScheme(
        header="X-FusionAuth-Signature-JWT",
        algorithms=tuple(NAMES),
        body_claim="request_body_sha256",
        body_encoding="base64",
    ),
    key="body:event.id",
    type="body:event.type",
    entity="body:event.user.id | body:event.group.id",
    occurred_at="body:event.createInstant",
    samples=(
        Sample(
            type="user.create",
            id="00000000-0000-4000-8000-000000001001",
            data={
                "event": {
                    "id": "{id}",
                    "type": "{type}",
                    "createInstant": BORN * 1000,
                    "tenantId": "00000000-0000-4000-8000-000000000051",
                    "user": {
                        "id": "00000000-0000-4000-8000-000000000052",
                        "email": "selma@example.com",
                        "active": True,
                        "verified": True,
                    },
                }
            },
        ),
    ),
    setup="Settings, Webhooks, Security: turn on signing. Give the HMAC key's secret, or the public key as PEM or JWK.",
    traps=(
        "The digest of the body in the token is base64, and the token has no time.",
        "A key that is rotated is not fetched: give the source the new one as well before you change over.",
        "A transaction at FusionAuth may wait for the answer, and fail with it.",
    ),
)

ONFIDO = Profile(
    name="onfido",
    title="Onfido",
    scheme=SignedScheme(signature="header:X-SHA2-Signature"),
    # No event has an id, and a check may be completed twice: what it came to and when are part of the key.
    key="fields:type,body:payload.object.id,body:payload.object.status,body:payload.object.completed_at_iso8601",
    type="body:payload.action",
    entity="body:payload.object.id",
    occurred_at="body:payload.object.completed_at_iso8601",
    time_of_object=True,
    samples=(
        Sample(
            type="check.completed",
            id="00000000-0000-4000-8000-000000001001",
            data={
                "payload": {
                    "resource_type": "check",
                    "action": "{type}",
                    "object": {
                        "id": "{id}",
                        "status": "complete",
                        "completed_at_iso8601": "2026-01-01T00:00:00Z",
                        "href": "https://api.eu.onfido.com/v3.6/checks/{id}",
                    },
                }
            },
        ),
    ),
    setup="Dashboard, Developers, Webhooks: the webhook's token is the secret.",
    traps=("The token of the webhook signs, not the API token.",),
)

FINCH = Profile(
    name="finch",
    title="Finch",
    scheme=standard_scheme("Finch", id_="Finch-Event-Id"),
    key="header:Finch-Event-Id",  # signed
    type="body:event_type",
    entity="body:connection_id | body:company_id",
    samples=(
        Sample(
            type="individual.updated",
            id="msg_landfast1001",
            data={
                "company_id": "00000000-0000-4000-8000-000000000061",
                "account_id": "00000000-0000-4000-8000-000000000062",
                "connection_id": "00000000-0000-4000-8000-000000000063",
                "event_type": "{type}",
                "data": {"individual_id": "00000000-0000-4000-8000-000000000064"},
            },
        ),
    ),
    setup="Developer Dashboard, Webhooks: the secret is shown once; it is base64 without a whsec_ before it.",
    traps=("The id is in Finch-Event-Id, where the scheme of its other headers would have it in Finch-Id.",),
)

PROFILES = (OKTA, AUTH0, CLERK, WORKOS, FUSIONAUTH, ONFIDO, FINCH)
