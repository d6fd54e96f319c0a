"""Shops."""

from __future__ import annotations

from landfast.providers.catalogue.units import HOUR
from landfast.providers.profile import Profile, Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

SHOPIFY = Profile(
    name="shopify",
    title="Shopify",
    scheme=SignedScheme(
        signature="header:X-Shopify-Hmac-Sha256 | header:Shopify-Hmac-Sha256",
        encoding="base64",
    ),
    # X-Shopify-Webhook-Id is not signed, and two topics may have the same body.
    key="type+body",
    type="header:X-Shopify-Topic | header:Shopify-Topic",
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

PROFILES = (SHOPIFY,)
