"""E-mail."""

from __future__ import annotations

from landfast.providers.catalogue.infrastructure import svix_scheme
from landfast.providers.catalogue.units import BORN, HOUR, MINUTE
from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.token import TokenScheme

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
        signs_once=True,
    ),
    key="body:event-data.id",
    type="body:event-data.event",
    entity="body:event-data.message.headers.message-id",
    occurred_at="body:event-data.timestamp",
    signed_at_place="body:signature.timestamp",
    tolerance=9 * HOUR,  # whether a retry eight hours later is signed anew is not published
    redelivery=Redelivery(
        window=8 * HOUR, delays=(600, 600, 900, 1800, 3600, 7200, 14400), success="200", ends_on="406"
    ),
    samples=(
        Sample(
            type="delivered",
            data={
                "signature": {"timestamp": "{now.s}", "token": "{id}-token", "signature": ""},
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
    traps=(
        "Only a time and a token are signed, no part of the event: another body under a known token is held.",
        "Whoever stops a request can be first with its token: ask Mailgun before you act on what matters.",
    ),
)

RESEND = Profile(
    name="resend",
    title="Resend",
    scheme=svix_scheme(),
    key="signed:id",
    type="body:type",
    entity="body:data.email_id | body:data.id",
    occurred_at="body:created_at",
    redelivery=Redelivery(window=27 * HOUR + 35 * MINUTE + 5, delays=(5, 300, 1_800, 7_200, 18_000, 36_000, 36_000)),
    samples=(
        Sample(
            type="email.delivered",
            id="msg_sample1001",
            data={
                "type": "{type}",
                "created_at": "{now}",
                "data": {
                    "email_id": "56761188-0000-4000-8000-000000001001",
                    "created_at": "2026-01-01T00:00:00.000Z",
                    "from": "Harbour <ice@example.com>",
                    "to": ["selma@example.com"],
                    "subject": "The ice report",
                },
            },
        ),
    ),
    setup="Webhooks, Add Webhook. Its page shows the signing secret, which starts with whsec_.",
    traps=("Svix sends for Resend: the headers are named svix-, and a retry is signed anew under the same id.",),
)

POSTMARK = Profile(
    name="postmark",
    title="Postmark",
    scheme=TokenScheme(token="header:Authorization", is_basic=True),  # noqa: S106 - where one stands
    key="body",  # only bounces have an id
    type="body:RecordType",
    entity="body:MessageID",
    occurred_at="body:DeliveredAt | body:BouncedAt | body:ReceivedAt | body:ChangedAt",
    redelivery=Redelivery(success="200", ends_on="403"),
    samples=(
        Sample(
            type="Delivery",
            id="883953f4-0000-4000-8000-000000001001",
            data={
                "RecordType": "{type}",
                "ServerID": 23,
                "MessageStream": "outbound",
                "MessageID": "{id}",
                "Recipient": "selma@example.com",
                "Tag": "ice-report",
                "DeliveredAt": "2026-01-01T00:00:00Z",
                "Details": "250 2.0.0 OK",
            },
        ),
    ),
    setup="Write a user and a password into the URL, as in https://user:password@host: user:password is the secret.",
    traps=(
        "Nothing is signed: the password proves the sender, not the body.",
        "An answer of 403 ends the retries at once, so a wrong password is refused with 401.",
        "Mail that comes in has no RecordType, and brings its attachments: give the source a body_limit that fits.",
    ),
)

MANDRILL = Profile(
    name="mandrill",
    title="Mandrill, Mailchimp Transactional",
    scheme=SignedScheme(
        signature="header:X-Mandrill-Signature",
        algorithm="sha1",
        encoding="base64",
        content="{url}mandrill_events{form:mandrill_events}",  # all fields are signed, but not where a name ends
        is_whole=True,
    ),
    key="body",  # of the item: its _id is the message's, and mail that comes in has none
    type="item:event | item:type",
    entity="item:_id",
    occurred_at="item:ts",
    items="form:mandrill_events",
    handshakes=(Handshake(method="HEAD"),),
    samples=(
        Sample(
            type="open",
            is_form=True,
            id="1001",
            data={
                "mandrill_events": '[{"event":"{type}","_id":"5acb0000000000000000000000{id}","ts":1767225600,'
                '"msg":{"_id":"5acb0000000000000000000000{id}","email":"selma@example.com","state":"sent"}}]'
            },
        ),
    ),
    setup="Settings, Webhooks: each webhook has a key, which is the secret. Say public_url in the source.",
    traps=(
        "The URL is signed exactly as it was entered, with its query and its last slash.",
        "Mandrill asks for the URL with HEAD first; only where that fails, with an event signed by a public key.",
        "Opens and clicks of one message share its _id.",
    ),
)

MAILERSEND = Profile(
    name="mailersend",
    title="MailerSend",
    scheme=SignedScheme(signature="header:Signature"),
    key="fields:type,body:data.id",
    type="body:type",
    entity="body:data.message_id | body:data.email.message.id",
    occurred_at="body:created_at | body:data.created_at",
    samples=(
        Sample(
            type="activity.delivered",
            id="62fb0000000000000001001",
            data={
                "type": "{type}",
                "domain_id": "yv69oxl5kl785kw2",
                "created_at": "2026-01-01T00:00:00.000000Z",
                "webhook_id": "2351ndgwr4zqx8ko",
                "url": "https://hooks.example.com/in/mailersend",
                "data": {
                    "object": "activity",
                    "id": "{id}",
                    "type": "delivered",
                    "message_id": "62fb0000000000000000042",
                    "recipient": "selma@example.com",
                },
            },
        ),
    ),
    setup="The domain's Webhooks: add the URL. The signing secret is shown there.",
    traps=("An inbound route signs with a secret of its own.", "Saving a webhook sends an event webhook.test."),
)

POSTAL = Profile(
    name="postal",
    title="Postal",
    scheme=AnyOf(
        SignedScheme(signature="header:X-Postal-Signature-256", algorithm="rsa-sha256", encoding="base64"),
        SignedScheme(signature="header:X-Postal-Signature", algorithm="rsa-sha1", encoding="base64"),
    ),
    key="body:uuid",
    type="body:event",
    entity="body:payload.message.id | body:payload.original_message.id",
    occurred_at="body:timestamp",
    redelivery=Redelivery(timeout=5, window=36 * MINUTE, delays=(120, 180, 360, 600, 900)),
    samples=(
        Sample(
            type="MessageSent",
            id="d2c90000-0000-4000-8000-000000001001",
            data={
                "event": "{type}",
                "timestamp": BORN + 0.5,
                "payload": {
                    "message": {"id": 1001, "token": "sampletoken", "to": "selma@example.com", "direction": "outgoing"},
                    "status": "Sent",
                    "output": "250 2.0.0 OK",
                    "timestamp": BORN + 0.25,
                },
                "uuid": "{id}",
            },
        ),
    ),
    setup="The server's Webhooks: add the URL. The public key of your installation is the secret: what stands after p= "
    "in its DKIM record.",
    traps=("Older installations sign with SHA-1 only.", "All servers of one installation sign with the same key."),
)

PROFILES = (SENDGRID, MAILGUN, RESEND, POSTMARK, MANDRILL, MAILERSEND, POSTAL)
