"""Files that people keep elsewhere."""

from __future__ import annotations

from landfast.providers.catalogue.units import MINUTE
from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.signed import SignedScheme

DROPBOX = Profile(
    name="dropbox",
    title="Dropbox",
    scheme=SignedScheme(signature="header:X-Dropbox-Signature"),
    key="arrival",  # the same account has the same bytes, whatever changed
    type="always:changed",
    handshakes=(Handshake(method="GET", when="query:challenge", text="{query:challenge}"),),
    redelivery=Redelivery(window=10 * MINUTE, success="200"),
    fetch_back=True,
    samples=(
        Sample(
            type="changed",
            id="1001",
            data={"list_folder": {"accounts": ["dbid:AAHLandfastSample{id}"]}, "delta": {"users": [1001]}},
        ),
    ),
    setup="App Console, Webhooks: add the URL while Landfast runs. The app secret is the secret.",
    traps=(
        "Only the accounts are named: the handler asks for what changed since its cursor.",
        "Nothing tells a redelivery from a second change: every arrival is an event.",
    ),
)

BOX = Profile(
    name="box",
    title="Box",
    scheme=SignedScheme(
        signature="header:BOX-SIGNATURE-PRIMARY | header:BOX-SIGNATURE-SECONDARY",
        encoding="base64",
        content="{body}{timestamp}",
        timestamp="header:BOX-DELIVERY-TIMESTAMP",
        timestamp_unit="iso",
        require={"BOX-SIGNATURE-VERSION": "1", "BOX-SIGNATURE-ALGORITHM": "HmacSHA256"},
    ),
    key="body:id",  # BOX-DELIVERY-ID is another one for each attempt
    type="body:trigger",
    entity="body:source.id",
    occurred_at="body:created_at",
    tolerance=10 * MINUTE,  # what Box's own libraries take
    samples=(
        Sample(
            type="FILE.UPLOADED",
            id="eb0c4e06-0000-4000-8000-000000001001",
            data={
                "type": "webhook_event",
                "id": "{id}",
                "created_at": "2026-01-01T00:00:00-00:00",
                "trigger": "{type}",
                "webhook": {"id": "1001", "type": "webhook"},
                "created_by": {"type": "user", "id": "301", "name": "Selma Holm", "login": "selma@example.com"},
                "source": {"id": "73835521473", "type": "file", "name": "Ice chart.pdf", "size": 4200},
            },
        ),
    ),
    setup="Developer Console, Webhooks, Manage signature keys: generate a primary key, and give it as the secret.",
    traps=(
        "There are two keys, so that one can be changed while the other signs: give both.",
        "The body escapes every letter outside ASCII, and slashes: it must be kept as it came.",
    ),
)

PROFILES = (DROPBOX, BOX)
