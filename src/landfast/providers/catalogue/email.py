"""E-mail."""

from __future__ import annotations

import math

from landfast.providers.catalogue.units import BORN, HOUR
from landfast.providers.profile import Profile, Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

SENDGRID = Profile(
    name="sendgrid",
    title="SendGrid event webhook",
    scheme=SignedScheme(
        signature="header:X-Twilio-Email-Event-Webhook-Signature",
        algorithm="ecdsa-sha256",
        encoding="base64",
        content="{timestamp}{body}",
        timestamp="header:X-Twilio-Email-Event-Webhook-Timestamp",
    ),
    key="item:sg_event_id",
    type="item:event",
    entity="item:sg_message_id",
    occurred_at="item:timestamp",
    items="body",
    samples=(
        Sample(
            type="delivered",
            data=[
                {
                    "email": "selma@example.com",
                    "event": "{type}",
                    "sg_event_id": "{id}",
                    "sg_message_id": "landfast.sample.1001",
                    "timestamp": BORN,
                }
            ],
        ),
    ),
    setup="Mail Settings, Event Webhook: switch on the signature and give the verification key as the secret.",
    traps=("The body ends with a line break, which is signed too.",),
)

MAILGUN = Profile(
    name="mailgun",
    title="Mailgun",
    scheme=SignedScheme(
        signature="body:signature.signature",
        content="{body:signature.timestamp}{body:signature.token}",
    ),
    key="body:event-data.id",
    type="body:event-data.event",
    entity="body:event-data.message.headers.message-id",
    occurred_at="body:event-data.timestamp",
    signed_at_place="body:signature.timestamp",
    tolerance=math.inf,  # whether a retry eight hours later is signed anew is not published
    redelivery=Redelivery(
        window=8 * HOUR, delays=(600, 600, 900, 1800, 3600, 7200, 14400), success="200", ends_on="406"
    ),
    samples=(
        Sample(
            type="delivered",
            data={
                "signature": {"timestamp": str(BORN), "token": "{id}-token", "signature": ""},
                "event-data": {
                    "id": "{id}",
                    "event": "{type}",
                    "timestamp": BORN,
                    "recipient": "selma@example.com",
                    "message": {"headers": {"message-id": "landfast.1001@example.com"}},
                },
            },
        ),
    ),
    setup="Sending, Webhooks: the HTTP webhook signing key is the secret.",
    traps=("Only a time and a token are signed, no part of the event: whoever has seen one can send another.",),
)

PROFILES = (SENDGRID, MAILGUN)
