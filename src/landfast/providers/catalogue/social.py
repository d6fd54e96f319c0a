"""Social networks."""

from __future__ import annotations

import math

from landfast.providers.catalogue.units import BORN, DAY, MINUTE
from landfast.providers.handshake import Handshake, Proof
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

_META_SCHEME = SignedScheme(signature="header:X-Hub-Signature-256", prefix="sha256=")

_META_SUBSCRIPTION = Handshake(
    method="GET",
    when="query:hub.mode=subscribe & query:hub.challenge",
    token="query:hub.verify_token=verify_token",  # noqa: S106 - where one stands
    text="{query:hub.challenge}",
)

META = Profile(
    name="meta",
    title="Meta: Facebook, Instagram, Messenger",
    scheme=_META_SCHEME,
    key="body",  # of the entry: only some changes have an id
    type="body:object + item:changes.0.field",
    entity="item:id",
    occurred_at="item:time",
    items="body:entry",
    handshakes=(_META_SUBSCRIPTION,),
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

WHATSAPP = Profile(
    name="whatsapp",
    title="WhatsApp Cloud API",
    scheme=_META_SCHEME,
    # Messages and statuses hold ids and times of their own; what concerns the account has its time in the entry, and
    # without that falls back to the change itself.
    key="fields:parent:id,parent:time,item:field,item:value",
    type="item:field",
    entity="item:value.metadata.phone_number_id | parent:id "
    "+ item:value.messages.0.from | item:value.statuses.0.recipient_id",
    occurred_at="item:value.messages.0.timestamp | item:value.statuses.0.timestamp | parent:time",
    items="body:entry.*.changes",
    handshakes=(_META_SUBSCRIPTION,),
    settings=("verify_token",),
    redelivery=Redelivery(window=7 * DAY, success="200"),
    samples=(
        Sample(
            type="messages",
            id="wamid.SAMPLE1001",
            data={
                "object": "whatsapp_business_account",
                "entry": [
                    {
                        "id": "102000000001001",
                        "changes": [
                            {
                                "value": {
                                    "messaging_product": "whatsapp",
                                    "metadata": {
                                        "display_phone_number": "4930000001",
                                        "phone_number_id": "106000000001001",
                                    },
                                    "contacts": [{"profile": {"name": "Selma"}, "wa_id": "4930000002"}],
                                    "messages": [
                                        {
                                            "from": "4930000002",
                                            "id": "{id}",
                                            "timestamp": str(BORN),
                                            "type": "text",
                                            "text": {"body": "Is the ice thick enough?"},
                                        }
                                    ],
                                },
                                "field": "{type}",
                            }
                        ],
                    }
                ],
            },
        ),
    ),
    setup="Choose a verify token, write it into the source as verify_token, and enter it with the URL under WhatsApp, "
    "Configuration. The app secret is the secret.",
    traps=(
        "Messages that come in and the statuses of those that went out are both of the type messages.",
        "The statuses of one message share its id.",
    ),
)

X_TWITTER = Profile(
    name="x-twitter",
    title="X, formerly Twitter",
    scheme=SignedScheme(signature="header:x-twitter-webhooks-signature", encoding="base64", prefix="sha256="),
    key="body",
    type="body:data.event_type | name:body",
    entity="body:for_user_id | body:data.filter.user_id",
    handshakes=(
        Handshake(
            method="GET",
            when="query:crc_token",
            json={"response_token": Proof(of="{query:crc_token}", encoding="base64", prefix="sha256=")},
        ),
    ),
    samples=(
        Sample(
            type="tweet_create_events",
            id="1990000000000001001",
            data={
                "for_user_id": "2244000001",
                "{type}": [
                    {
                        "id_str": "{id}",
                        "created_at": "Thu Jan 01 00:00:00 +0000 2026",
                        "text": "The ice holds.",
                        "user": {"id_str": "2244000002", "screen_name": "selma_example"},
                    }
                ],
            },
        ),
    ),
    setup="Register the URL by the API while Landfast runs. The app's consumer secret (API secret key) is the secret.",
    traps=(
        "The challenge comes again every hour, and one that fails stops all events until the webhook is validated.",
        "A challenge is signed with the key of the events: Landfast answers none that could be an event.",
        "The URL must not name a port.",
    ),
)

TWITCH = Profile(
    name="twitch",
    title="Twitch EventSub",
    scheme=SignedScheme(
        signature="header:Twitch-Eventsub-Message-Signature",
        content="{id}{timestamp}{body}",
        prefix="sha256=",
        timestamp="header:Twitch-Eventsub-Message-Timestamp",
        timestamp_unit="iso",
        id="header:Twitch-Eventsub-Message-Id",
        is_json=True,  # with a time out of the body for its timestamp, the id would be longer and the event a new one
    ),
    key="header:Twitch-Eventsub-Message-Id",  # signed
    type="body:subscription.type",  # the header Twitch-Eventsub-Subscription-Type is not signed
    entity="body:event.broadcaster_user_id | body:subscription.condition.broadcaster_user_id | body:subscription.id",
    occurred_at="header:Twitch-Eventsub-Message-Timestamp",
    handshakes=(
        Handshake(
            when="body:subscription.status=webhook_callback_verification_pending & body:challenge",
            is_signed=True,
            text="{body:challenge}",
        ),
    ),
    tolerance=10 * MINUTE,
    samples=(
        Sample(
            type="channel.follow",
            headers={"Twitch-Eventsub-Message-Type": "notification", "Twitch-Eventsub-Subscription-Type": "{type}"},
            data={
                "subscription": {
                    "id": "5f0e1a3c-0000-4000-8000-000000001001",
                    "status": "enabled",
                    "type": "{type}",
                    "version": "2",
                    "condition": {"broadcaster_user_id": "1001", "moderator_user_id": "1001"},
                    "transport": {"method": "webhook", "callback": "https://hooks.example.com/in/twitch"},
                    "created_at": "2026-01-01T00:00:00.000000001Z",
                    "cost": 0,
                },
                "event": {
                    "user_id": "2002",
                    "user_login": "selma_example",
                    "user_name": "selma_example",
                    "broadcaster_user_id": "1001",
                    "broadcaster_user_login": "north_pier",
                    "broadcaster_user_name": "North_Pier",
                    "followed_at": "2026-01-01T00:00:00Z",
                },
            },
        ),
    ),
    setup="Choose a secret of 10 to 100 characters and give it with the URL when you create the subscription.",
    traps=(
        "A revoked subscription is told under its own type: there is no event in it, and its status is not enabled.",
        "The time is signed as it is written, with its nanoseconds.",
    ),
)

PROFILES = (META, WHATSAPP, X_TWITTER, TWITCH)
