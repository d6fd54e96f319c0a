"""Accounts and logins."""

from __future__ import annotations

from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile, Redelivery, Sample
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

PROFILES = (OKTA,)
