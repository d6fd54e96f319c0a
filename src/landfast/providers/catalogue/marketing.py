"""Campaigns and their audiences."""

from __future__ import annotations

import math

from landfast.providers.catalogue.units import BORN, DAY
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

CUSTOMERIO = Profile(
    name="customerio",
    title="Customer.io reporting webhooks",
    scheme=SignedScheme(
        signature="header:X-CIO-Signature",
        content="v0:{timestamp}:{body}",
        timestamp="header:X-CIO-Timestamp",
    ),
    key="body:event_id",
    type="body:object_type + body:metric",
    entity="body:data.customer_id | body:data.identifiers.cio_id",
    occurred_at="body:timestamp",
    tolerance=math.inf,  # whether a retry days later is signed anew is not published
    redelivery=Redelivery(timeout=4, window=7 * DAY),
    samples=(
        Sample(
            type="email.delivered",
            id="01E4C4CT6YDC7Y5M7FE1GWW001",
            data={
                "event_id": "{id}",
                "object_type": "{type.first}",
                "metric": "{type.rest}",
                "timestamp": BORN,
                "data": {
                    "customer_id": "1001",
                    "identifiers": {"id": "1001", "email": "selma@example.com", "cio_id": "d9c106000001"},
                    "delivery_id": "RPILAgUBcRhIBqSfeiIwdIYJKxTY",
                    "recipient": "selma@example.com",
                    "subject": "The ice report",
                },
            },
        ),
    ),
    setup="Data & Integrations, Reporting Webhooks: add the URL. The same page shows the signing key.",
    traps=("While one call fails, for up to seven days, no later one is made: one error holds up all events.",),
)

MAUTIC = Profile(
    name="mautic",
    title="Mautic",
    scheme=SignedScheme(signature="header:Webhook-Signature", encoding="base64"),
    key="type+body",  # of the item: what failed is sent again together with what is new
    type="name:parent",
    entity="item:contact.id | item:lead.id",
    occurred_at="item:timestamp",
    items="body:*",
    samples=(
        Sample(
            type="mautic.lead_post_save_update",
            data={
                "{type}": [
                    {
                        "contact": {
                            "id": 1001,
                            "points": 42,
                            "fields": {"core": {"email": {"value": "selma@example.com"}, "tag": {"value": "{id}"}}},
                        },
                        "timestamp": "2026-01-01T00:00:00+00:00",
                    }
                ]
            },
        ),
    ),
    setup="Settings, Webhooks: give the URL and a secret, which Mautic makes up if you leave it empty.",
    traps=(
        "One request may bring several types, each with a list of its events.",
        "No event has an id: two of one second with the same content are one.",
    ),
)

PROFILES = (CUSTOMERIO, MAUTIC)
