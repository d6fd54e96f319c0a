"""Parcels and drivers."""

from __future__ import annotations

from landfast.providers.catalogue.units import BORN, DAY
from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

EASYPOST = Profile(
    name="easypost",
    title="EasyPost",
    scheme=SignedScheme(
        signature="header:X-Hmac-Signature",
        prefix="hmac-sha256-hex=",
        secret="nfkd",  # noqa: S106 - the form of one
    ),
    key="body:id",  # pending_urls and completed_urls change from attempt to attempt
    body_varies=True,
    type="body:description",
    entity="body:result.id",
    occurred_at="body:created_at",
    redelivery=Redelivery(window=DAY),
    samples=(
        Sample(
            type="tracker.updated",
            id="evt_landfast0000000000001001",
            data={
                "description": "{type}",
                "mode": "test",
                "previous_attributes": {"status": "in_transit"},
                "created_at": "2026-01-01T00:00:00.000Z",
                "pending_urls": ["https://hooks.example.com/in/easypost"],
                "completed_urls": [],
                "id": "{id}",
                "object": "Event",
                "result": {
                    "id": "trk_landfast000000000000001001",
                    "object": "Tracker",
                    "status": "delivered",
                    "tracking_code": "EZ1000000001",
                    "weight": 614.4,
                },
            },
        ),
    ),
    setup="Give a webhook_secret when you create the webhook; it is the secret.",
    traps=(
        "Without a webhook_secret nothing is signed, and every request is refused here.",
        "An accent in the secret is taken apart before it is used: copy the secret as you gave it.",
    ),
)

ONFLEET = Profile(
    name="onfleet",
    title="Onfleet",
    scheme=SignedScheme(
        signature="header:X-Onfleet-Signature",
        algorithm="sha512",
        secret="hex",  # noqa: S106 - the form of one
    ),
    key="fields:body:triggerId,body:taskId | body:workerId | body:adminId,body:time",
    type="body:triggerName",
    entity="body:taskId | body:workerId",
    occurred_at="body:time",
    handshakes=(Handshake(method="GET", when="query:check", text="{query:check}"),),
    redelivery=Redelivery(window=DAY, success="200"),
    samples=(
        Sample(
            type="taskCompleted",
            data={
                "taskId": "{id}",
                "workerId": "landfastWorker0000000001",
                "adminId": None,
                "time": BORN * 1000,
                "triggerId": 3,
                "triggerName": "{type}",
                "actionContext": {"type": "WORKER", "id": "landfastWorker0000000001"},
                "data": {"task": {"id": "{id}", "shortId": "4e2cf01a", "state": 3}},
            },
        ),
    ),
    setup="Settings, API and webhooks: add the webhook while Landfast runs. Its secret is in hexadecimal.",
    traps=(
        "The secret is decoded from hexadecimal before it is used.",
        "There is no id of an event: trigger, task and time together are the key.",
    ),
)

PROFILES = (EASYPOST, ONFLEET)
