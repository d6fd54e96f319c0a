"""Chat, and messages between programs."""

from __future__ import annotations

from landfast.domain.answer import plain
from landfast.providers.catalogue.units import BORN, MINUTE
from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.token import TokenScheme

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
    thanks=plain(""),  # what else is said to a command or a form is shown to the user, or taken for an error
    redelivery=Redelivery(timeout=3, window=6 * MINUTE, delays=(0, 60, 300)),
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

_DISCORD_SCHEME = SignedScheme(
    signature="header:X-Signature-Ed25519",
    algorithm="ed25519",
    content="{timestamp}{body}",
    timestamp="header:X-Signature-Timestamp",
)

DISCORD_INTERACTIONS = Profile(
    name="discord-interactions",
    title="Discord interactions",
    scheme=_DISCORD_SCHEME,
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

DISCORD_EVENTS = Profile(
    name="discord-events",
    title="Discord webhook events",
    scheme=_DISCORD_SCHEME,
    key="body",
    type="body:event.type",
    entity="body:event.data.user.id | body:event.data.user_id | body:event.data.channel_id | body:event.data.id",
    occurred_at="body:event.timestamp",
    handshakes=(Handshake(when="body:type=0", is_signed=True, text="", status=204),),
    tolerance=15 * MINUTE,  # it tries for ten, and does not say whether it signs anew
    thanks=plain("", status=204),
    redelivery=Redelivery(timeout=3, window=10 * MINUTE, success="204"),
    samples=(
        Sample(
            type="APPLICATION_AUTHORIZED",
            id="995000000000001001",
            data={
                "version": 1,
                "application_id": "827000000000000001",
                "type": 1,
                "event": {
                    "type": "{type}",
                    "timestamp": "{now}",
                    "data": {
                        "integration_type": 1,
                        "scopes": ["applications.commands"],
                        "user": {"id": "{id}", "username": "selma_example"},
                    },
                },
            },
        ),
    ),
    setup="Webhooks: add the URL while Landfast runs. The application's public key, under General Information, is the "
    "secret.",
    traps=(
        "Discord sends wrong signatures on purpose, and removes a URL that does not answer them with 401.",
        "No event has an id: the digest of the body is the key.",
    ),
)

TELEGRAM = Profile(
    name="telegram",
    title="Telegram bots",
    scheme=TokenScheme(token="header:X-Telegram-Bot-Api-Secret-Token"),  # noqa: S106 - where one stands
    key="body:update_id",
    type="name:body",
    entity="body:*.chat.id | body:*.message.chat.id | body:*.from.id | body:*.user.id",
    occurred_at="body:*.edit_date | body:*.date",
    samples=(
        Sample(
            type="message",
            id="710001001",
            data={
                "update_id": "{id}",
                "{type}": {
                    "message_id": 1001,
                    "from": {"id": 42001, "is_bot": False, "first_name": "Selma"},
                    "chat": {"id": 42001, "first_name": "Selma", "type": "private"},
                    "date": BORN,
                    "text": "Is the ice thick enough?",
                },
            },
        ),
    ),
    setup="Call setWebhook with the URL and a secret_token of up to 256 letters, digits, _ and -: that is the secret.",
    traps=(
        "The token proves the sender, not the body.",
        "Without a secret_token nothing is proven, and every request is refused.",
        "While a webhook is set, getUpdates does not work.",
    ),
)

LINE = Profile(
    name="line",
    title="LINE Messaging API",
    scheme=SignedScheme(signature="header:X-Line-Signature", encoding="base64"),
    key="item:webhookEventId",  # deliveryContext.isRedelivery changes with the attempt
    body_varies=True,
    type="item:type",
    entity="item:source.groupId | item:source.roomId | item:source.userId",
    occurred_at="item:timestamp",
    items="body:events",
    samples=(
        Sample(
            type="message",
            id="01K0SAMPLE0000000000001001",
            data={
                "destination": "U0000000000000000000000000000pier",
                "events": [
                    {
                        "type": "{type}",
                        "webhookEventId": "{id}",
                        "deliveryContext": {"isRedelivery": False},
                        "timestamp": BORN * 1000,
                        "source": {"type": "user", "userId": "U000000000000000000000000000selma"},
                        "replyToken": "sample",
                        "mode": "active",
                        "message": {"id": "1001", "type": "text", "text": "Is the ice thick enough?"},
                    }
                ],
            },
        ),
    ),
    setup="The channel's Messaging API tab takes the URL. The channel secret, under Basic settings, is the secret.",
    traps=(
        "Nothing is sent again unless redelivery is switched on for the channel.",
        "The button Verify sends a list without events, which is answered and leaves nothing.",
    ),
)

WEBEX = Profile(
    name="webex",
    title="Cisco Webex",
    scheme=SignedScheme(signature="header:X-Spark-Signature", algorithm="sha1"),
    key="body",  # its id is that of the webhook
    type="body:resource + body:event",
    entity="body:data.roomId | body:data.id",
    fetch_back=True,
    samples=(
        Sample(
            type="messages.created",
            data={
                "id": "WEBHOOKSAMPLE1001",
                "name": "Ice reports",
                "resource": "{type.first}",
                "event": "{type.rest}",
                "created": "2025-12-01T00:00:00.000Z",
                "actorId": "PEOPLESAMPLE42",
                "data": {
                    "id": "{id}",
                    "roomId": "ROOMSAMPLE7",
                    "personId": "PEOPLESAMPLE42",
                    "created": "2026-01-01T00:00:00.000Z",
                },
            },
        ),
    ),
    setup="Choose a secret and give it with the URL when you create the webhook by the API.",
    traps=(
        "A webhook without a secret is not signed, and refused.",
        "A message comes without its text: the handler asks for it by data.id.",
        "id and created are those of the webhook; no event has its own, so that two of the same bytes are one.",
    ),
)

PUSHER = Profile(
    name="pusher",
    title="Pusher Channels",
    scheme=SignedScheme(signature="header:X-Pusher-Signature", key_name="X-Pusher-Key=app_key"),
    key="fields:body:time_ms,number,item:name,item:channel",  # one request may hold the same event twice
    type="item:name",
    entity="item:channel",
    occurred_at="body:time_ms",
    signed_at_place="body:time_ms",
    signed_at_unit="ms",
    items="body:events",
    settings=("app_key?",),
    samples=(
        Sample(
            type="channel_occupied",
            data={"time_ms": "{now.ms}", "events": [{"name": "{type}", "channel": "{id}"}]},
        ),
    ),
    setup="The app's Webhooks page takes the URL. Of its App Keys the secret is the secret; the key may be given as "
    "app_key, and others are then refused.",
    traps=("No event has an id: the time of the request and the place in it make the key.",),
)

PROFILES = (SLACK, DISCORD_INTERACTIONS, DISCORD_EVENTS, TELEGRAM, LINE, WEBEX, PUSHER)
