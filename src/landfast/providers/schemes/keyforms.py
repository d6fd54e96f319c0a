"""How the text that a provider shows becomes the key that it signs with. Seven ways, and no sender says which."""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from contextlib import suppress
from typing import Literal

from landfast.domain.errors import ConfigError

KeyForm = Literal["text", "base64", "whsec", "hex", "sha1", "nfkd"]

ED25519_BYTES = 32
"""Of a public key. A secret of as many could be one, and anybody could sign with it."""


def decode_key(text: str, form: KeyForm) -> bytes:
    """ConfigError, without the secret in it, for one that cannot be any."""
    _check_something(text.strip())
    if "-----BEGIN" in text:  # anybody may know a public key, and could sign with it if it were a secret
        raise ConfigError("the secret is a key or a certificate as PEM, and this sender signs with a shared secret")
    if _is_public(text):
        raise ConfigError("the secret is a public key or a certificate, and this sender signs with a shared secret")
    match form:
        case "whsec":  # Standard Webhooks': there a public key may stand in its place
            key = _from_base64(text)
            if len(key) == ED25519_BYTES and not text.strip().startswith("whsec_"):
                raise ConfigError(
                    "the secret could be a public key: write whsec_ before it if it is the shared secret, "
                    "or whpk_ if it is the public key"
                )
        case "base64":
            key = _from_base64(text)
        case "hex":
            key = _from_hex(text)
        case "sha1":  # Braintree's
            key = hashlib.sha1(text.encode()).digest()  # noqa: S324 - the sender's choice
        case "nfkd":  # EasyPost's: letters and their accents apart
            key = unicodedata.normalize("NFKD", text).encode()
        case _:
            key = text.encode("utf-8", "surrogateescape")  # what an environment variable held, byte for byte
    _check_something(key.strip())
    return key


def _check_something(secret: str | bytes) -> None:
    if not secret:
        raise ConfigError("the secret is empty, and anybody can sign with that; set it to the sender's secret")


def _from_base64(text: str) -> bytes:
    if text.startswith(("whpk_", "whsk_")):
        raise ConfigError("the secret is an Ed25519 key (v1a); give the symmetric one, which starts with whsec_")
    encoded = text.strip().removeprefix("whsec_").rstrip("=")
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        raise ConfigError("the secret is not base64; copy it again, with or without its whsec_") from None


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text.strip())
    except ValueError:
        raise ConfigError("the secret is not hexadecimal; copy it again: digits and the letters a to f") from None


def _is_public(text: str) -> bool:
    """Whether it is the DER of a public key or a certificate, as it is, in base64 or in hexadecimal, or a JSON web key
    of a pair."""
    if _is_key_of_a_pair(text):
        return True
    bare = "".join(text.split()).removeprefix("whsec_")
    padded = bare.rstrip("=") + "=" * (-len(bare.rstrip("=")) % 4)  # many leave the padding out
    candidates = [text.encode("utf-8", "surrogateescape")]
    for decoded, written in ((base64.b64decode, padded), (base64.urlsafe_b64decode, padded), (bytes.fromhex, bare)):
        with suppress(ValueError):
            candidates.append(decoded(written))
    return any(raw[:1] == b"\x30" and _is_der(raw) for raw in candidates)


def _is_key_of_a_pair(text: str) -> bool:
    try:
        jwk = json.loads(text) if text.lstrip().startswith("{") else None
    except ValueError:
        return False
    return isinstance(jwk, dict) and ("keys" in jwk or jwk.get("kty") in {"EC", "OKP", "RSA"})


def _is_der(raw: bytes) -> bool:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    for load in (load_der_public_key, x509.load_der_x509_certificate):
        with suppress(ValueError, TypeError, UnsupportedAlgorithm):
            load(raw)
            return True
    return False
