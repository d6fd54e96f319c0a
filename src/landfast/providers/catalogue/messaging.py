"""Chat and social networks."""

from __future__ import annotations

import math

from landfast.providers.catalogue.units import BORN, DAY
from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile, Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

SLACK = Profile(
    name="slack",
    title="Slack",
    scheme=SignedScheme(
        signature="header:X-Slack-Signature",
        content="v0:{timestamp}:{body}",
        prefix="v0=",
        timestamp="header:X-Slack-Request-Timestamp",
    ),
    key="body:event_id",
    type="body:event.type | body:type | body:command",  # events, interactions, slash commands
    entity="body:event.channel | body:channel.id | body:channel_id",
    occurred_at="body:event_time",
    handshakes=(Handshake(when="body:type=url_verification", is_signed=True, text="{body:challenge}"),),
    redelivery=Redelivery(timeout=3),
    samples=(
        Sample(
            type="message",
            id="Ev0000SAMPLE",
            data={
                "token": "unused",
                "team_id": "T0000SHORE",
                "api_app_id": "A0000LAND",
                "event": {
                    "type": "{type}",
                    "channel": "C0000PIER",
                    "user": "U0000SELMA",
                    "text": "The ice holds.",
                    "ts": "1767225600.000100",
                },
                "type": "event_callback",
                "event_id": "{id}",
                "event_time": BORN,
            },
        ),
    ),
    setup="Event Subscriptions: enter the URL while Landfast runs. Basic Information has the signing secret.",
    traps=("Slash commands and interactions have no id: there the digest of the body is the key.",),
)

DISCORD_INTERACTIONS = Profile(
    name="discord-interactions",
    title="Discord interactions",
    scheme=SignedScheme(
        signature="header:X-Signature-Ed25519",
        algorithm="ed25519",
        content="{timestamp}{body}",
        timestamp="header:X-Signature-Timestamp",
    ),
    key="body:id",
    type="body:type",
    entity="body:channel_id",
    handshakes=(Handshake(when="body:type=1", is_signed=True, json={"type": 1}),),
    redelivery=Redelivery(timeout=3, window=0, delays=()),
    samples=(
        Sample(
            type="2",
            id="995000000000001001",
            data={
                "id": "{id}",
                "application_id": "827000000000000001",
                "type": 2,
                "channel_id": "645000000000000001",
                "data": {"id": "771000000000000001", "name": "moor", "type": 1},
                "token": "sample",
                "version": 1,
            },
        ),
    ),
    setup="General Information: give the application's public key as the secret.",
    traps=(
        "Discord sends wrong signatures on purpose, and wants 401 for them.",
        "An interaction wants its answer in the response: an inbox can only acknowledge it.",
    ),
)

META = Profile(
    name="meta",
    title="Meta: Facebook, Instagram, Messenger",
    scheme=SignedScheme(signature="header:X-Hub-Signature-256", prefix="sha256="),
    key="body",  # of the entry: only some changes have an id
    type="body:object + item:changes.0.field",
    entity="item:id",
    occurred_at="item:time",
    items="body:entry",
    handshakes=(
        Handshake(
            method="GET",
            when="query:hub.mode=subscribe & query:hub.challenge",
            token="query:hub.verify_token=verify_token",  # noqa: S106 - where one stands
            text="{query:hub.challenge}",
        ),
    ),
    settings=("verify_token",),
    redelivery=Redelivery(window=1.5 * DAY, success="200"),
    tolerance=math.inf,
    samples=(
        Sample(
            type="page.feed",
            data={
                "object": "{type.first}",
                "entry": [
                    {
                        "id": "1000000000001001",
                        "time": BORN,
                        "changes": [{"field": "{type.rest}", "value": {"item": "post", "post_id": "{id}"}}],
                    }
                ],
            },
        ),
    ),
    setup="Choose a verify token, write it into the source as verify_token, and enter it with the URL in the app's "
    "webhooks. The app secret is the secret.",
    traps=("An entry may hold several changes: each entry is one event.",),
)

PROFILES = (SLACK, DISCORD_INTERACTIONS, META)
