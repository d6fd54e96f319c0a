"""Services that send webhooks for others, and the specification that many of them follow."""

from __future__ import annotations

from landfast.providers.profile import Profile, Sample
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.keyforms import KeyForm
from landfast.providers.schemes.signed import SignedScheme


def standard_scheme(prefix: str = "webhook", *, id_: str = "", secret: KeyForm = "base64") -> AnyOf:  # noqa: S107 - the form of one
    """Standard Webhooks under the header names of one sender. v1 is an HMAC, v1a is Ed25519: the key says which."""
    return AnyOf(
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
        by_key=True,
    )


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
    samples=(_INVOICE,),
    setup="The secret starts with whsec_, or with whpk_ where the sender signs with a key of its own.",
    traps=("The time is that of the attempt: a retry is signed anew.",),
)

SVIX = Profile(
    name="svix",
    title="Svix",
    scheme=standard_scheme("svix"),
    key="header:svix-id",  # signed
    type="body:type",
    entity="body:data.id",
    occurred_at="body:timestamp",
    samples=(_INVOICE,),
    setup="The endpoint's signing secret, which starts with whsec_.",
)

PROFILES = (STANDARD_WEBHOOKS, SVIX)
