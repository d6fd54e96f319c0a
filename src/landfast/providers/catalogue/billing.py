"""Subscriptions and licences."""

from __future__ import annotations

from landfast.providers.catalogue.infrastructure import standard_scheme
from landfast.providers.catalogue.units import BORN, DAY, HOUR, MINUTE
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.token import TokenScheme

PADDLE_BILLING = Profile(
    name="paddle-billing",
    title="Paddle Billing",
    scheme=SignedScheme(
        signature="header:Paddle-Signature",
        content="{timestamp}:{body}",
        separator=";",
        prefix="h1=",
        timestamp="entry:ts=",
    ),
    key="body:event_id",
    type="body:event_type",
    entity="body:data.id",
    occurred_at="body:occurred_at",
    redelivery=Redelivery(timeout=5, window=3 * DAY, success="200"),
    samples=(
        Sample(
            type="transaction.completed",
            id="evt_01landfastsample0000000001",
            data={
                "event_id": "{id}",
                "event_type": "{type}",
                "occurred_at": "2026-01-01T00:00:00.000000Z",
                "notification_id": "ntf_01landfastsample0000000001",
                "data": {
                    "id": "txn_01landfastsample0000000001",
                    "status": "completed",
                    "customer_id": "ctm_01landfastsample0000000001",
                    "currency_code": "EUR",
                    "details": {"totals": {"total": "4200", "tax": "670"}},
                },
            },
        ),
    ),
    setup="Developer tools, Notifications: add the URL and copy the secret key, pdl_ntfset_ included.",
    traps=(
        "Its own libraries allow five seconds between the signed time and the clock; here it is the tolerance.",
        "notification_id differs for each destination: event_id is the key.",
        "Order the events of one object by occurred_at, not by their arrival.",
    ),
)

PADDLE_CLASSIC = Profile(
    name="paddle-classic",
    title="Paddle Classic",
    scheme=SignedScheme(
        signature="form:p_signature",
        algorithm="rsa-sha1",
        encoding="base64",
        content="{php_form}",
    ),
    key="form:alert_id",
    type="form:alert_name",
    entity="form:subscription_id | form:order_id | form:checkout_id",
    occurred_at="form:event_time",
    body_limit=256 * 1024,  # one alert: some forty short fields, and a passthrough of yours
    samples=(
        Sample(
            type="subscription_payment_succeeded",
            is_form=True,
            data={
                "alert_id": "{id}",
                "alert_name": "{type}",
                "currency": "EUR",
                "email": "selma@example.com",
                "event_time": "2026-01-01 00:00:00",
                "next_bill_date": "2026-02-01",
                "order_id": "1001-42",
                "passthrough": "",
                "sale_gross": "42.00",
                "status": "active",
                "subscription_id": "1001",
            },
            id="184200001",
        ),
    ),
    setup="Developer tools, Events; give the public key from Developer tools, Public key as the secret.",
    traps=(
        "What is signed is the sorted form as PHP serialises it, not the bytes of the body.",
        "Each vendor account has its own key, and the sandbox another.",
        "An alert is some forty short fields and your own passthrough: a few KB, and never near the limit.",
    ),
)

LEMONSQUEEZY = Profile(
    name="lemonsqueezy",
    title="Lemon Squeezy",
    scheme=SignedScheme(signature="header:X-Signature"),
    key="body",
    type="body:meta.event_name",  # X-Event-Name says the same, and is not signed
    entity="body:data.type + body:data.id",
    occurred_at="body:data.attributes.updated_at",
    time_of_object=True,
    redelivery=Redelivery(window=155, delays=(5, 25, 125), success="200"),
    samples=(
        Sample(
            type="subscription_created",
            headers={"X-Event-Name": "{type}"},
            data={
                "meta": {"event_name": "{type}", "custom_data": {"order": "{id}"}, "test_mode": True},
                "data": {
                    "type": "subscriptions",
                    "id": "1001",
                    "attributes": {
                        "store_id": 11,
                        "customer_id": 401,
                        "product_name": "Ice report",
                        "status": "active",
                        "user_email": "selma@example.com",
                        "created_at": "2026-01-01T00:00:00.000000Z",
                        "updated_at": "2026-01-01T00:00:00.000000Z",
                    },
                },
            },
        ),
    ),
    setup="Settings, Webhooks: add the URL; the signing secret is yours to choose, 6 to 40 characters.",
    traps=(
        "Three retries within three minutes are all: what is not stored by then is lost until you resend it by hand.",
        "There is no id of an event: the digest of the body is its key.",
    ),
)

CHARGEBEE = Profile(
    name="chargebee",
    title="Chargebee",
    scheme=TokenScheme(token="header:Authorization", is_basic=True),  # noqa: S106 - where one stands
    key="body:id",
    type="body:event_type",
    entity="body:content.subscription.id | body:content.invoice.id | body:content.customer.id",
    occurred_at="body:occurred_at",
    redelivery=Redelivery(
        window=80 * HOUR + 38 * MINUTE,  # the sum of these
        delays=(120, 360, 1_800, 3_600, 18_000, 86_400, 172_800),
        success="200",
    ),
    samples=(
        Sample(
            type="subscription_renewed",
            id="ev_Landfast0000001001",
            data={
                "id": "{id}",
                "occurred_at": BORN,
                "source": "scheduled_job",
                "object": "event",
                "api_version": "v2",
                "event_type": "{type}",
                "webhook_status": "scheduled",
                "content": {
                    "subscription": {
                        "id": "sub_landfast_1001",
                        "customer_id": "cus_landfast_1",
                        "status": "active",
                        "resource_version": BORN * 1000,
                        "currency_code": "EUR",
                    }
                },
            },
        ),
    ),
    setup="Settings, API keys and webhooks: choose user and password there, and give user:password as the secret.",
    traps=(
        "Nothing is signed: the password proves the sender, not the body, so take requests over TLS only.",
        "Order the events of one object by resource_version, not by their arrival.",
        "Chargebee Retention is another product, and signs otherwise.",
    ),
)

POLAR = Profile(
    name="polar",
    title="Polar",
    scheme=standard_scheme(secret="text"),  # noqa: S106 - the form of one
    key="header:webhook-id",  # signed
    type="body:type",
    entity="body:data.id",
    occurred_at="body:timestamp",
    samples=(
        Sample(
            type="order.paid",
            id="msg_landfast_sample_0001",
            data={
                "type": "{type}",
                "timestamp": "2026-01-01T00:00:00.000000Z",
                "data": {
                    "id": "3f1c6b1e-0000-4000-8000-000000001001",
                    "status": "paid",
                    "total_amount": 4200,
                    "currency": "eur",
                    "customer_id": "9a4f2d55-0000-4000-8000-000000000001",
                    "billing_reason": "purchase",
                },
            },
        ),
    ),
    setup="Settings, Webhooks: add the endpoint and copy its secret as it is.",
    traps=("It follows Standard Webhooks, but the secret is used as it is: it is not base64.",),
)

PROFILES = (PADDLE_BILLING, PADDLE_CLASSIC, LEMONSQUEEZY, CHARGEBEE, POLAR)
