"""A signed token in its compact form: three parts with dots between them, read and written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from landfast.domain.errors import UnverifiedError
from landfast.domain.json_limits import read_json
from landfast.providers.schemes.algorithms import ALGORITHMS, decode, encode

LONGEST_TOKEN = 8192
"""Bytes; the longest, Google's, have about 1,200."""

NAMES = {
    "HS256": "sha256",
    "HS384": "sha384",
    "HS512": "sha512",
    "RS256": "rsa-sha256",
    "RS384": "rsa-sha384",
    "RS512": "rsa-sha512",
    "ES256": "ecdsa-sha256",
    "ES384": "ecdsa-sha384",
    "ES512": "ecdsa-sha512",
    "EdDSA": "ed25519",
}
_SIZES = {"ES256": 64, "ES384": 96, "ES512": 132}


class Token(NamedTuple):
    algorithm: str
    key_id: str | None
    claims: dict[str, Any]
    signed: bytes
    signature: bytes


def parsed(text: bytes, algorithms: Sequence[str]) -> Token:
    """A token in its compact form, its payload decoded and not believed."""
    parts = text.split(b".", 3)
    if len(parts) != 3 or len(text) > LONGEST_TOKEN:
        raise UnverifiedError("the token has not the three parts of one")
    header, signature = header_of(parts[0], parts[2], algorithms)
    claims, key_id = _object(decode(parts[1], "base64url")), header.get("kid")
    signed = b"%b.%b" % (parts[0], parts[1])
    return Token(header["alg"], key_id if isinstance(key_id, str) else None, claims, signed, signature)


def header_of(encoded: bytes, signature: bytes, algorithms: Sequence[str]) -> tuple[dict[str, Any], bytes]:
    """The header of a token, and its signature, if it is of one of these algorithms."""
    header, digest = _object(decode(encoded, "base64url")), decode(signature, "base64url")
    if header.get("alg") not in algorithms or "crit" in header:
        raise UnverifiedError("the token is signed with an algorithm that this sender does not use")
    if not digest:
        raise UnverifiedError("the token is not signed")
    return header, digest


def compact(header: Mapping[str, Any], payload: bytes, key: bytes) -> str:
    """A token, signed."""
    name = header["alg"]
    signed = ".".join(encode(part, "base64url") for part in (json.dumps(header).encode(), payload))
    made = ALGORITHMS[NAMES[name]].make(key, signed.encode())
    return f"{signed}.{encode(_shortened(name, made), 'base64url')}"


def is_signed(token: Token, key: bytes) -> bool:
    algorithm = ALGORITHMS[NAMES[token.algorithm]]
    size = _SIZES.get(token.algorithm)
    if size is None:
        return algorithm.check(key, token.signed, (token.signature,))
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    if len(token.signature) != size:
        return False
    r, s = token.signature[: size // 2], token.signature[size // 2 :]
    return algorithm.check(key, token.signed, (encode_dss_signature(int.from_bytes(r), int.from_bytes(s)),))


def _shortened(name: str, made: bytes) -> bytes:
    """Two numbers side by side, as these tokens write what others write in DER."""
    if name not in _SIZES:
        return made
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    half = _SIZES[name] // 2
    return b"".join(number.to_bytes(half) for number in decode_dss_signature(made))


def _object(raw: bytes | None) -> dict[str, Any]:
    try:
        data = None if raw is None else read_json(raw)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise UnverifiedError("the token cannot be read")
    return data
