"""Tools that people work with."""

from __future__ import annotations

from landfast.providers.catalogue.units import BORN
from landfast.providers.handshake import Handshake, Proof
from landfast.providers.profile import Profile, Redelivery, Sample
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.signed import SignedScheme

HUBSPOT = Profile(
    name="hubspot",
    title="HubSpot",
    scheme=AnyOf(
        SignedScheme(
            signature="header:X-HubSpot-Signature-v3",
            encoding="base64",
            content="{method}{url_unescaped}{body}{timestamp}",
            timestamp="header:X-HubSpot-Request-Timestamp",
            timestamp_unit="ms",
        ),
        SignedScheme(
            signature="header:X-HubSpot-Signature",
            algorithm="plain-sha256",
            content="{secret}{method}{url}{body}",
            require={"X-HubSpot-Signature-Version": "v2"},
        ),
        SignedScheme(
            signature="header:X-HubSpot-Signature",
            algorithm="plain-sha256",
            content="{secret}{body}",
            require={"X-HubSpot-Signature-Version": "v1"},
        ),
    ),
    # Ids are not promised to be unique, and attemptNumber changes with each attempt.
    key="fields:item:eventId,item:subscriptionId,item:objectId,item:occurredAt",
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

PROFILES = (HUBSPOT, ZOOM)
