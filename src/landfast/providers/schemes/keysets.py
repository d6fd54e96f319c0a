"""Keys of the provider's, as it publishes them: a certificate or key as PEM, one JSON web key, or a set of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.domain.json_limits import read_json
from landfast.ports.provider import PublicKey
from landfast.providers.schemes.algorithms import decode, public_key


def key_in(document: bytes, key_id: str | None = None) -> PublicKey | None:
    """The key with this id in a document that was fetched; None where it has none of it."""
    try:
        if document.lstrip().startswith(b"-----"):
            return public_key(document.decode("ascii"))
        data = read_json(document)
        keys = data.get("keys") if isinstance(data, dict) else None
        for each in keys if isinstance(keys, list) else [data]:
            jwk = each.get("key", each) if isinstance(each, dict) else each  # Plaid wraps its one key
            if isinstance(jwk, dict) and (key_id is None or jwk.get("kid") == key_id):
                return from_jwk(jwk)
    except (ValueError, ConfigError):
        return None
    return None


def from_jwk(jwk: dict[str, Any]) -> PublicKey:
    """ValueError for what is no key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    match jwk.get("kty"):
        case "EC":
            curves: dict[str, Any] = {"P-256": ec.SECP256R1, "P-384": ec.SECP384R1, "P-521": ec.SECP521R1}
            curve = curves.get(str(jwk.get("crv")))
            if curve is None:
                raise ValueError("an unknown curve")
            key: Any = ec.EllipticCurvePublicNumbers(_number(jwk, "x"), _number(jwk, "y"), curve()).public_key()
        case "RSA":
            key = rsa.RSAPublicNumbers(_number(jwk, "e"), _number(jwk, "n")).public_key()
        case "OKP":
            key = ed25519.Ed25519PublicKey.from_public_bytes(_bytes(jwk, "x"))
        case _:
            raise ValueError("an unknown kind of key")
    return PublicKey(key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))


def address_in(settings: Mapping[str, str], production: str, sandbox: str | None) -> str:
    """The one address whose keys count: the production's, unless the source says that it is for the sandbox. Whoever
    has an account there, which costs nothing, has it sign what they like."""
    return sandbox if sandbox is not None and settings.get("environment") == "sandbox" else production


def pinned(url: object, pattern: re.Pattern[str]) -> str:
    """The address, if the whole of it is one that the provider is known to keep its keys at."""
    if not isinstance(url, str) or len(url) > 512 or not pattern.fullmatch(url):
        raise UnverifiedError("the address of the key is none that this provider uses")
    return url


def _number(jwk: dict[str, Any], name: str) -> int:
    return int.from_bytes(_bytes(jwk, name))


def _bytes(jwk: dict[str, Any], name: str) -> bytes:
    value = decode(str(jwk.get(name, "")).rstrip("=").encode(), "base64url")
    if not value:
        raise ValueError(f"{name} is missing")
    return value
