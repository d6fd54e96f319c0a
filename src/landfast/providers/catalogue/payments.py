"""Payments: the large ones."""

from __future__ import annotations

from landfast.domain.answer import plain
from landfast.providers.catalogue.units import BORN, DAY, HOUR
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.paypal import PayPalScheme
from landfast.providers.schemes.signed import SignedScheme

STRIPE = Profile(
    name="stripe",
    title="Stripe",
    scheme=SignedScheme(
        signature="header:Stripe-Signature",
        content="{timestamp}.{body}",
        separator=",",
        prefix="v1=",  # v0 is a test scheme
        timestamp="entry:t=",
        # The whole secret is the key, `whsec_` included: not base64, unlike Standard Webhooks.
    ),
    key="body:id",
    body_varies=True,  # pending_webhooks counts down
    type="body:type",
    entity="body:data.object.id | body:related_object.id",  # the second in thin (v2) events
    occurred_at="body:created",
    redelivery=Redelivery(window=3 * DAY),
    samples=(
        Sample(
            type="payment_intent.succeeded",
            id="evt_1LandfastSample0001",
            data={
                "id": "{id}",
                "object": "event",
                "api_version": "2025-09-30",
                "created": BORN,
                "data": {
                    "object": {
                        "id": "pi_1LandfastSample0001",
                        "object": "payment_intent",
                        "amount": 4200,
                        "amount_received": 4200,
                        "currency": "eur",
                        "customer": "cus_LandfastSample01",
                        "description": "Two tickets for the harbour tour",
                        "metadata": {"order": "1001"},
                        "status": "succeeded",
                    }
                },
                "livemode": False,
                "pending_webhooks": 1,
                "request": {"id": None, "idempotency_key": None},
                "type": "{type}",
            },
        ),
    ),
    setup="Add an endpoint under Developers, Webhooks, and copy its signing secret, `whsec_` included.",
    traps=(
        "The secret is used as it is: it is not base64, though it looks like one of Standard Webhooks.",
        "The command-line tool and each endpoint have secrets of their own.",
        "Two events can describe one change, and their order is not promised.",
    ),
)

PAYPAL = Profile(
    name="paypal",
    title="PayPal",
    scheme=PayPalScheme(),
    key="body:id",
    type="body:event_type",
    entity="body:resource.id",
    occurred_at="body:create_time",
    environments=("production", "sandbox"),
    tolerance=3 * DAY + HOUR,  # the time of the first attempt is signed, and attempts go on for three days
    redelivery=Redelivery(window=3 * DAY),
    samples=(
        Sample(
            type="PAYMENT.CAPTURE.COMPLETED",
            id="WH-1LANDFAST0SAMPLE01-2LANDFAST0SAMPLE02",
            data={
                "id": "{id}",
                "create_time": "2026-01-01T00:00:00Z",
                "resource_type": "capture",
                "event_type": "{type}",
                "summary": "Payment completed for EUR 42.0 EUR",
                "resource": {
                    "id": "9LANDFAST01",
                    "amount": {"value": "42.00", "currency_code": "EUR"},
                    "status": "COMPLETED",
                },
            },
        ),
    ),
    setup="Add a webhook to the app and give its id as the secret. The certificate is fetched by itself.",
    traps=(
        "The signature holds a CRC32 of the body, which is no digest: another body under a known transmission is held.",
        "For large sums, ask PayPal about each event all the same: who stops a request can be first with its proof.",
        'The certificates of the sandbox count only with environment = "sandbox" in the source.',
        "Events of the simulator carry another id and do not verify.",
    ),
)

ADYEN = Profile(
    name="adyen",
    title="Adyen, standard notifications",
    scheme=SignedScheme(
        signature="item:NotificationRequestItem.additionalData.hmacSignature",
        encoding="base64",
        content=(
            "{item:NotificationRequestItem.pspReference!}:{item:NotificationRequestItem.originalReference!?}"
            ":{item:NotificationRequestItem.merchantAccountCode!}:{item:NotificationRequestItem.merchantReference?}"
            ":{item:NotificationRequestItem.amount.value!?}:{item:NotificationRequestItem.amount.currency!?}"
            ":{item:NotificationRequestItem.eventCode!}:{item:NotificationRequestItem.success!?}"
        ),
        secret="hex",  # noqa: S106 - the form of one
        items="body:notificationItems",
    ),
    key=(
        "fields:item:NotificationRequestItem.pspReference"
        ",item:NotificationRequestItem.eventCode,item:NotificationRequestItem.success | always:none"
    ),
    type="item:NotificationRequestItem.eventCode",
    entity="item:NotificationRequestItem.originalReference | item:NotificationRequestItem.pspReference",
    occurred_at="item:NotificationRequestItem.eventDate",
    items="body:notificationItems",
    body_limit=64 * 1024,  # one item, or a few, of about 2 KB each
    thanks=plain("[accepted]"),  # older endpoints are tried again without it
    redelivery=Redelivery(
        timeout=10,
        window=30 * DAY,
        delays=(9, 18, 27, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800),
    ),
    samples=(
        Sample(
            type="AUTHORISATION",
            id="8825LANDFAST0001",
            data={
                "live": "false",
                "notificationItems": [
                    {
                        "NotificationRequestItem": {
                            "additionalData": {},
                            "amount": {"currency": "EUR", "value": 4200},
                            "eventCode": "{type}",
                            "eventDate": "2026-01-01T00:00:00+00:00",
                            "merchantAccountCode": "NorthPier",
                            "merchantReference": "order-1001",
                            "paymentMethod": "visa",
                            "pspReference": "{id}",
                            "success": "true",
                        }
                    }
                ],
            },
        ),
    ),
    setup="Developers, Webhooks, Standard webhook: generate an HMAC key and give it as it is, in hexadecimal.",
    traps=(
        "Only eight fields of each item are signed: use basic authentication as well, and trust no other field.",
        "A new key takes a while to be used everywhere: keep the old one beside it.",
    ),
)

GOCARDLESS = Profile(
    name="gocardless",
    title="GoCardless",
    scheme=SignedScheme(signature="header:Webhook-Signature"),
    key="item:id",
    type="item:resource_type + item:action",
    entity=(
        "item:links.payment | item:links.mandate | item:links.subscription | item:links.refund | item:links.payout"
    ),
    occurred_at="item:created_at",
    items="body:events",
    refusal=498,  # what GoCardless asks for
    redelivery=Redelivery(timeout=10),
    samples=(
        Sample(
            type="payments.confirmed",
            id="EV00LANDFAST01",
            data={
                "events": [
                    {
                        "id": "{id}",
                        "created_at": "2026-01-01T00:00:00.000Z",
                        "resource_type": "{type.first}",
                        "action": "{type.rest}",
                        "links": {"payment": "PM00LANDFAST01"},
                        "details": {"origin": "gocardless", "cause": "payment_confirmed"},
                    }
                ],
                "meta": {"webhook_id": "WB00LANDFAST01"},
            },
        ),
    ),
    setup="Developers, Create webhook endpoint; the secret is yours to choose there.",
    traps=("One request brings up to 250 events, and their order is not promised.",),
)

ADYEN_PLATFORM = Profile(
    name="adyen-platform",
    title="Adyen, balance platform and management",
    scheme=SignedScheme(
        signature="header:HmacSignature",
        encoding="base64",
        secret="hex",  # noqa: S106 - the form of one
    ),
    key="body",  # data.id is the transfer's or account's: one of them has many events
    type="body:type",
    entity=(
        "body:data.id | body:data.accountHolder.id | body:data.balanceAccount.id | body:data.paymentInstrument.id"
        " | body:data.merchantId"
    ),
    occurred_at="body:timestamp | body:createdAt",
    redelivery=Redelivery(timeout=10, window=30 * DAY),
    samples=(
        Sample(
            type="balancePlatform.transfer.updated",
            id="EVJN00LANDFAST01",
            data={
                "data": {
                    "balancePlatform": "NorthPier",
                    "id": "48POLANDFAST01",
                    "category": "bank",
                    "amount": {"currency": "EUR", "value": 4200},
                    "reference": "{id}",
                    "sequenceNumber": 3,
                    "status": "booked",
                },
                "environment": "test",
                "timestamp": "2026-01-01T00:00:00+00:00",
                "type": "{type}",
            },
        ),
    ),
    setup="Developers, Webhooks, Platforms: generate an HMAC key and give it as it is, in hexadecimal.",
    traps=(
        "An event has no id: the digest of its body is the key.",
        "Order the events of one transfer by its sequenceNumber, not by their arrival.",
    ),
)

PROFILES = (STRIPE, PAYPAL, ADYEN, ADYEN_PLATFORM, GOCARDLESS)
