"""Shops."""

from __future__ import annotations

from landfast.providers.catalogue.infrastructure import standard_scheme
from landfast.providers.catalogue.units import BORN, DAY, HOUR
from landfast.providers.handshake import Handshake, Proof
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.ebay import EbayScheme
from landfast.providers.schemes.signed import SignedScheme

SHOPIFY = Profile(
    name="shopify",
    title="Shopify",
    scheme=SignedScheme(
        signature="header:X-Shopify-Hmac-Sha256 | header:Shopify-Hmac-Sha256",
        encoding="base64",
    ),
    key="body",  # X-Shopify-Webhook-Id is not signed
    type="header:X-Shopify-Topic | header:Shopify-Topic",
    type_letters="[a-z_]{1,64}[/.][a-z_]{1,64}",
    # An order that is paid at once is created, paid and updated in the same words. So they come together, and each is
    # sent again for four hours at most.
    siblings=(0.0, 4 * HOUR),
    entity="body:admin_graphql_api_id | body:id",
    occurred_at="header:X-Shopify-Triggered-At",
    redelivery=Redelivery(timeout=5, window=4 * HOUR),
    samples=(
        Sample(
            type="orders/create",
            headers={
                "X-Shopify-Topic": "{type}",
                "X-Shopify-Shop-Domain": "north-pier.myshopify.com",
                "X-Shopify-Webhook-Id": "{id}",
            },
            id="sample",
            data={
                "id": 820000001001,
                "admin_graphql_api_id": "gid://shopify/Order/820000001001",
                "created_at": "2026-01-01T00:00:00+00:00",
                "updated_at": "2026-01-01T00:00:00+00:00",
                "currency": "EUR",
                "email": "selma@example.com",
                "financial_status": "paid",
                "line_items": [{"id": 1, "title": "Harbour tour", "quantity": 2, "price": "21.00"}],
                "name": "#1001",
                "token": "{id}",
                "total_price": "42.00",
            },
        ),
    ),
    setup="Create the webhook in the app's settings or by the API; the app's client secret signs it.",
    traps=(
        "Webhooks made in the admin are signed with another secret, shown below their list.",
        "After a rotation of the secret, the old one signs for up to an hour.",
    ),
)

WOOCOMMERCE = Profile(
    name="woocommerce",
    title="WooCommerce",
    scheme=SignedScheme(signature="header:X-WC-Webhook-Signature", encoding="base64"),
    key="body",  # X-WC-Webhook-Delivery-ID is not signed
    type="header:X-WC-Webhook-Topic",
    type_letters=r"[a-z_]{1,64}\.[A-Za-z0-9_/-]{1,100}",
    # An order is written out when it is sent, so that created and updated are often the same words. A shop's queue may
    # be some hours behind.
    siblings=(0.0, 4 * HOUR),
    entity="body:id",
    occurred_at="body:date_modified_gmt",
    time_of_object=True,
    handshakes=tuple(
        # The ping of a new webhook: a form with its id, and nothing that proves anything.
        Handshake(when=f"!header:X-WC-Webhook-Signature & header:Content-Type={kind}", text="")
        for kind in ("application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=UTF-8")
    ),
    redelivery=Redelivery(timeout=60, window=0, delays=()),
    samples=(
        Sample(
            type="order.updated",
            headers={
                "X-WC-Webhook-Topic": "{type}",
                "X-WC-Webhook-Source": "https://north-pier.example.com/",
                "X-WC-Webhook-Delivery-ID": "{id}",
            },
            data={
                "id": 1001,
                "number": "1001",
                "status": "processing",
                "currency": "EUR",
                "date_created_gmt": "2025-12-31T23:59:00",
                "date_modified_gmt": "2026-01-01T00:00:00",
                "order_key": "wc_order_{id}",
                "total": "42.00",
                "billing": {"first_name": "Selma", "email": "selma@example.com"},
                "line_items": [{"id": 1, "name": "Harbour tour", "quantity": 2, "total": "42.00"}],
            },
        ),
    ),
    setup="WooCommerce, Settings, Advanced, Webhooks: add the URL while Landfast runs, and choose the secret.",
    traps=(
        "Nothing is sent again: what is not stored is lost. After five failures in a row the webhook is switched off.",
        "The ping that is sent when a webhook is saved is not signed, and is no event.",
        "Topics that start with action. may have the same body each time: say dedup = 'arrival' in their source.",
    ),
)

BIGCOMMERCE = Profile(
    name="bigcommerce",
    title="BigCommerce",
    scheme=standard_scheme(secret="text"),  # noqa: S106 - the form of one
    key="header:webhook-id",  # signed; `hash` is a digest of the thin data, which two changes of one order share
    type="body:scope",
    entity="body:data.type + body:data.id",
    occurred_at="body:created_at",
    redelivery=Redelivery(
        window=2 * DAY,
        delays=(60, 180, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 50_400, 86_400),
        success="200",
    ),
    samples=(
        Sample(
            type="store/order/statusUpdated",
            id="msg_landfast_sample_0001",
            data={
                "store_id": "1000001",
                "producer": "stores/landfast",
                "scope": "{type}",
                "data": {
                    "type": "order",
                    "id": 1001,
                    "status": {"previous_status_id": 0, "new_status_id": 10},
                },
                "hash": "1ce0000000000000000000000000000000001001",
                "created_at": BORN,
            },
        ),
    ),
    fetch_back=True,
    setup="Create the webhook by the API. The client secret of the app that did is the secret, as it is.",
    traps=(
        "It follows Standard Webhooks, but the secret is used as it is: it is not base64.",
        "An event has only ids: fetch what it is about.",
        "If fewer than nine in ten succeed within two minutes, the whole domain is not called for three.",
    ),
)

EBAY = Profile(
    name="ebay",
    title="eBay notifications",
    scheme=EbayScheme(),
    proves_account=False,
    key="body:notification.notificationId",  # publishAttemptCount and publishDate change with each attempt
    body_varies=True,
    type="body:metadata.topic",
    entity="body:notification.data.userId",
    occurred_at="body:notification.eventDate",
    handshakes=(
        Handshake(
            method="GET",
            when="query:challenge_code",
            json={
                "challengeResponse": Proof(
                    of="{query:challenge_code}{setting:verification_token}{url_without_query}", is_keyed=False
                )
            },
        ),
    ),
    settings=("verification_token",),
    refusal=412,  # what eBay asks for
    samples=(
        Sample(
            type="MARKETPLACE_ACCOUNT_DELETION",
            id="5ea1ce04-0000-4000-8000-000000001001",
            data={
                "metadata": {"topic": "{type}", "schemaVersion": "1.0", "deprecated": False},
                "notification": {
                    "notificationId": "{id}",
                    "eventDate": "2026-01-01T00:00:00.000Z",
                    "publishDate": "2026-01-01T00:00:00.250Z",
                    "publishAttemptCount": 1,
                    "data": {"username": "selma", "userId": "landfast1001", "eiasToken": "bGFuZGZhc3Q="},
                },
            },
        ),
    ),
    setup="Choose a verification token, write it into the source as verification_token, say public_url, and save the "
    "endpoint while Landfast runs. The key that getPublicKey gives for the header's kid is the secret.",
    traps=(
        "The URL is part of the answer to the challenge: public_url must be the one that you gave eBay.",
        "Keys are not fetched by themselves: after eBay changes its key, give the new one beside the old.",
    ),
)

PROFILES = (SHOPIFY, WOOCOMMERCE, BIGCOMMERCE, EBAY)
