"""Pictures and films."""

from __future__ import annotations

from landfast.providers.catalogue.units import BORN, HOUR
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Sample
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.signed import SignedScheme

MUX = Profile(
    name="mux",
    title="Mux",
    scheme=SignedScheme(
        signature="header:Mux-Signature",
        content="{timestamp}.{body}",
        separator=",",
        prefix="v1=",
        timestamp="entry:t=",
    ),
    key="body:id",
    body_varies=True,
    type="body:type",
    entity="body:data.id",
    occurred_at="body:created_at",
    samples=(
        Sample(
            type="video.asset.ready",
            id="7d1f0000-0000-4000-8000-000000001001",
            data={
                "type": "{type}",
                "id": "{id}",
                "created_at": "{now}",
                "object": {"type": "asset", "id": "asset1001"},
                "environment": {"name": "Production", "id": "env1001"},
                "data": {"id": "asset1001", "status": "ready", "duration": 42.0},
                "attempts": [],
            },
        ),
    ),
    setup="Settings, Webhooks: each endpoint has a signing secret of its own.",
    traps=("The body lists the attempts so far: a later delivery has other bytes, and only its id tells.",),
)

CLOUDINARY = Profile(
    name="cloudinary",
    title="Cloudinary",
    scheme=AnyOf(  # the account chooses, and the length tells which one it is
        SignedScheme(
            signature="header:X-Cld-Signature",
            algorithm="plain-sha1",
            content="{body}{timestamp}{secret}",
            timestamp="header:X-Cld-Timestamp",
        ),
        SignedScheme(
            signature="header:X-Cld-Signature",
            algorithm="plain-sha256",
            content="{body}{timestamp}{secret}",
            timestamp="header:X-Cld-Timestamp",
        ),
    ),
    key="body",
    type="body:notification_type",
    entity="body:asset_id | body:public_id",
    occurred_at="body:timestamp | header:X-Cld-Timestamp",
    tolerance=2 * HOUR,  # as in Cloudinary's own SDKs
    samples=(
        Sample(
            type="upload",
            data={
                "notification_type": "{type}",
                "timestamp": "{now}",
                "request_id": "{id}",
                "asset_id": "a55e7000000000000000000000001001",
                "public_id": "harbour/ice",
                "version": BORN,
                "resource_type": "image",
                "format": "jpg",
                "bytes": 42000,
            },
        ),
    ),
    setup="Settings, Webhook Notifications take the URL. The API secret is the secret.",
    traps=(
        "The signature is a plain hash of body, time and API secret: SHA-1, or SHA-256 where the account says so.",
        "The API secret that signs is also the key to the whole account.",
    ),
)

PROFILES = (MUX, CLOUDINARY)
