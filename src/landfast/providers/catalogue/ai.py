"""Models, voices and agents."""

from __future__ import annotations

from landfast.providers.catalogue.infrastructure import standard_scheme
from landfast.providers.catalogue.units import BORN, MINUTE
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

OPENAI = Profile(
    name="openai",
    title="OpenAI",
    scheme=standard_scheme(),
    key="header:webhook-id",  # signed
    type="body:type",
    entity="body:data.id",
    occurred_at="body:created_at",
    fetch_back=True,
    samples=(
        Sample(
            type="response.completed",
            id="wh_landfast1001",
            data={
                "id": "evt_landfast1001",
                "object": "event",
                "created_at": BORN,
                "type": "{type}",
                "data": {"id": "resp_landfast1001"},
            },
        ),
    ),
    setup="Project settings, Webhooks: the secret, which starts with whsec_, is shown once.",
    traps=("An event names what is ready; the handler fetches it.",),
)

ELEVENLABS = Profile(
    name="elevenlabs",
    title="ElevenLabs",
    scheme=SignedScheme(
        signature="header:ElevenLabs-Signature",
        content="{timestamp}.{body}",
        separator=",",
        prefix="v0=",
        timestamp="entry:t=",
    ),
    key="body",  # a conversation has several events, and none of them an id
    type="body:type",
    entity="body:data.conversation_id | body:data.voice_id",
    occurred_at="body:event_timestamp",
    tolerance=30 * MINUTE,
    refusal=503,  # of the 4xx only 408 and 429 make it come again, and a wrong secret may be ours
    redelivery=Redelivery(
        window=2_430,
        delays=(30, 2 * MINUTE, 8 * MINUTE, 30 * MINUTE),
        ends_on="4xx other than 408 and 429",
    ),
    samples=(
        Sample(
            type="post_call_transcription",
            data={
                "type": "{type}",
                "event_timestamp": BORN,
                "data": {
                    "agent_id": "agent_landfast",
                    "conversation_id": "conv_{id}",
                    "status": "done",
                    "transcript": [
                        {"role": "agent", "message": "This is the harbour.", "time_in_call_secs": 0},
                        {"role": "user", "message": "Is the ice thick enough?", "time_in_call_secs": 2},
                    ],
                    "metadata": {"start_time_unix_secs": BORN, "call_duration_secs": 22},
                },
            },
        ),
    ),
    setup="Settings, Webhooks: choose HMAC; the secret is shown once. Then choose the webhook where it is to be used.",
    traps=(
        "It tries again only where that was turned on, and only for transcriptions.",
        "post_call_audio holds the whole call in base64: give the source a larger body_limit for it.",
    ),
)

CURSOR = Profile(
    name="cursor",
    title="Cursor cloud agents",
    scheme=SignedScheme(signature="header:X-Webhook-Signature", prefix="sha256="),
    key="body",  # X-Webhook-ID is not signed, and an agent may finish more than once
    type="body:event",
    entity="body:id",
    occurred_at="body:timestamp",
    samples=(
        Sample(
            type="statusChange",
            headers={"X-Webhook-Event": "{type}", "X-Webhook-ID": "{id}"},
            data={
                "event": "{type}",
                "timestamp": "2026-01-01T00:00:00Z",
                "id": "bc_{id}",
                "status": "FINISHED",
                "source": {"repository": "https://github.com/north-pier/shore", "ref": "main"},
                "target": {"branchName": "cursor/moor-the-ice", "url": "https://cursor.com/agents?id=bc_{id}"},
                "summary": "Moored the ice",
            },
        ),
    ),
    setup="Give URL and secret in the request to the API that starts the agent.",
    traps=("It sends when an agent has finished or failed, and nothing in between.",),
)

PROFILES = (OPENAI, ELEVENLABS, CURSOR)
