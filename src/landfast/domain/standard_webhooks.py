"""How the Standard Webhooks sign: HMAC-SHA256 over id, time and body, under a secret that begins with `whsec_`."""

from __future__ import annotations

import base64
import hashlib
import hmac

PREFIX = "whsec_"


def key_of(secret: str) -> bytes:
    """The bytes that a secret stands for; ValueError where it is no `whsec_` and base64."""
    if not secret.startswith(PREFIX):
        raise ValueError("no whsec_")
    return base64.b64decode(secret.removeprefix(PREFIX), validate=True)


def signature(key: bytes, id_: str, at: str, body: bytes) -> str:
    """As it stands in `webhook-signature`, where several may stand with a space between them."""
    signed = b".".join([id_.encode(), at.encode(), body])
    return f"v1,{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}"
