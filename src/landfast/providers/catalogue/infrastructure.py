"""Services that send webhooks for others, and the specification that many of them follow."""

from __future__ import annotations

import math

from landfast.providers.catalogue.units import HOUR, MINUTE
from landfast.providers.handshake import Handshake
from landfast.providers.profile import TOLERANCE, Profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.keyforms import KeyForm
from landfast.providers.schemes.signature_headers import Encoding
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.token import TokenScheme


def standard_scheme(prefix: str = "webhook", *, id_: str = "", secret: KeyForm = "whsec") -> AnyOf:  # noqa: S107 - the form of one
    """Standard Webhooks under the header names of one sender. v1 is an HMAC, v1a is Ed25519: the key says which."""
    return AnyOf(*_standard_schemes(prefix, id_, secret), by_key=True)


def svix_scheme() -> AnyOf:
    """Svix names its headers svix-, and for those of its customers who want no brand webhook-; its libraries take both.
    So the key must be the id that was signed: another may stand under the other name."""
    return AnyOf(*_standard_schemes("svix"), *_standard_schemes("webhook"), by_key=True)


def _standard_schemes(prefix: str, id_: str = "", secret: KeyForm = "base64") -> tuple[SignedScheme, SignedScheme]:  # noqa: S107 - same
    return (
        SignedScheme(
            signature=f"header:{prefix}-signature",
            content="{id}.{timestamp}.{body}",
            encoding="base64",
            separator=" ",
            prefix="v1,",
            timestamp=f"header:{prefix}-timestamp",
            id=f"header:{id_ or prefix + '-id'}",
            secret=secret,
        ),
        SignedScheme(
            signature=f"header:{prefix}-signature",
            algorithm="ed25519",
            content="{id}.{timestamp}.{body}",
            encoding="base64",
            separator=" ",
            prefix="v1a,",
            timestamp=f"header:{prefix}-timestamp",
            id=f"header:{id_ or prefix + '-id'}",
        ),
    )


SVIX_REDELIVERY = Redelivery(
    window=99_305, delays=(5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR)
)
"""Of all who send through Svix."""

_INVOICE = Sample(
    type="invoice.paid",
    id="sample",
    data={
        "type": "{type}",
        "timestamp": "2026-01-01T00:00:00.000000Z",
        "data": {"id": "inv_1001", "reference": "{id}", "amount": 4200, "currency": "EUR"},
    },
)

STANDARD_WEBHOOKS = Profile(
    name="standard-webhooks",
    title="Standard Webhooks",
    scheme=standard_scheme(),
    key="header:webhook-id",  # signed
    type="body:type",
    entity="body:data.id",
    occurred_at="body:timestamp",
    redelivery=Redelivery(ends_on="410"),
    samples=(_INVOICE,),
    setup="The secret starts with whsec_, or with whpk_ where the sender signs with a key of its own.",
    traps=("The time is that of the attempt: a retry is signed anew.",),
)

SVIX = Profile(
    name="svix",
    title="Svix",
    scheme=svix_scheme(),
    key="signed:id",
    type="body:type",
    entity="body:data.id",
    occurred_at="body:timestamp",
    redelivery=SVIX_REDELIVERY,
    samples=(_INVOICE,),
    setup="The endpoint's signing secret, which starts with whsec_.",
    traps=(
        "The headers are named svix-id and so on, or webhook-id for senders who want no brand in them: both are taken.",
        "Type, time and entity are where most put them; the sender decides.",
    ),
)

HOOK0 = Profile(
    name="hook0",
    title="Hook0",
    # v0 only. v1 covers headers as well, and joins their values with dots, which they may hold themselves: one
    # signature then fits several requests, whose parts begin and end at other dots.
    scheme=SignedScheme(
        signature="header:X-Hook0-Signature",
        content="{timestamp}.{body}",
        separator=",",
        prefix="v0=",
        timestamp="entry:t=",
    ),
    key="body",  # X-Event-Id is not signed
    type="header:X-Event-Type",
    type_letters="[A-Za-z0-9_.:-]{1,200}",
    # The time is signed, so a captured request is refused after that long, and what comes later was signed anew.
    siblings=(2 * TOLERANCE, math.inf),
    redelivery=Redelivery(timeout=15),
    samples=(
        Sample(
            type="harbour.ice.measured",
            headers={"X-Event-Type": "{type}", "X-Event-Id": "{id}"},
            data={"reading": "{id}", "harbour": "north-pier", "centimetres": 23},
        ),
    ),
    setup="The subscription's secret. On a server of your own let ENABLED_SIGNATURE_VERSIONS hold v0.",
    traps=(
        "A server that signs with v1 alone, as a new one does, is refused: turn on v0 beside it.",
        "Two events of one type with the same body are one here; where that can be, choose dedup header:X-Event-Id.",
    ),
)


def _convoy(algorithm: str, encoding: Encoding, *, has_time: bool) -> SignedScheme:
    return SignedScheme(
        signature="header:X-Convoy-Signature",
        algorithm=algorithm,
        encoding=encoding,
        content="{timestamp},{body}" if has_time else "{body}",
        separator="," if has_time else None,
        prefix="v1=" if has_time else "",
        timestamp="entry:t=" if has_time else None,
        is_json=not has_time,  # what was signed with a time could be sent as a body without one, for ever
    )


_CONVOY_WAYS: tuple[tuple[str, Encoding], ...] = (
    ("sha256", "hex"),
    ("sha256", "base64"),
    ("sha512", "hex"),
    ("sha512", "base64"),
)

CONVOY = Profile(
    name="convoy",
    title="Convoy",
    # A project chooses one of these eight, which differ in length or form: no signature is well formed for two.
    scheme=AnyOf(*(_convoy(*way, has_time=has_time) for has_time in (True, False) for way in _CONVOY_WAYS)),
    key="body",  # X-Convoy-Idempotency-Key is not signed
    type="body:event_type | body:event | body:type",
    samples=(
        Sample(
            type="ice.measured",
            data={"event_type": "{type}", "data": {"reading": "{id}", "harbour": "north-pier", "centimetres": 23}},
        ),
    ),
    setup="Project settings, Signature: choose the advanced one. The endpoint's secret is the secret.",
    traps=(
        "A simple signature has no time: what was captured once can be sent again for as long as the secret lives.",
        "The body is the sender's own; where two events may have the same, choose a dedup of your own.",
    ),
)

CLOUDEVENTS = Profile(
    name="cloudevents",
    title="CloudEvents over HTTP",
    scheme=AnyOf(
        TokenScheme(token="header:Authorization", prefix="Bearer "),  # noqa: S106 - where one stands
        TokenScheme(token="query:access_token"),  # noqa: S106 - same
    ),
    # In headers where the body is the data alone, in the body where it is the whole event. An id is the source's own.
    key="fields:header:ce-source | body:source,header:ce-id | body:id",
    type="header:ce-type | body:type",
    entity="header:ce-subject | body:subject",
    occurred_at="header:ce-time | body:time",
    handshakes=(
        Handshake(
            method="OPTIONS",
            when="header:WebHook-Request-Origin",
            token="header:WebHook-Request-Origin=allowed_origin",  # noqa: S106 - where one stands
            headers={
                "WebHook-Allowed-Origin": "{header:WebHook-Request-Origin}",
                "WebHook-Allowed-Rate": "*",
                "Allow": "POST",
            },
        ),
    ),
    settings=("allowed_origin?",),
    redelivery=Redelivery(ends_on="410"),
    samples=(
        Sample(
            type="com.example.ice.measured",
            data={
                "specversion": "1.0",
                "id": "{id}",
                "source": "/harbours/north-pier",
                "type": "{type}",
                "subject": "sensor-23",
                "time": "2026-01-01T00:00:00Z",
                "datacontenttype": "application/json",
                "data": {"centimetres": 23},
            },
        ),
    ),
    setup="Agree on a token. If the sender asks first, with OPTIONS, say its name in the source as allowed_origin.",
    traps=(
        "The token is sent in clear and proves no body: take requests over TLS only.",
        "A batch, application/cloudevents-batch+json, is kept as one event.",
    ),
)

PROFILES = (STANDARD_WEBHOOKS, SVIX, HOOK0, CONVOY, CLOUDEVENTS)
