"""eBay: a header that is JSON in base64, with an ECDSA signature over the body and the id of the key that made it.

The keys are handed out by an API of eBay's for a token of the application's, which is more than a key here is asked for
with. So a source has them as its secrets: as PEM, in one line as the API gives them, or in several.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from landfast.domain.delivery import Head
from landfast.domain.errors import UnverifiedError
from landfast.domain.json_limits import read_json
from landfast.ports.provider import Hidden, Proven, Secret, Signature
from landfast.providers.request import Draft, Request
from landfast.providers.schemes import Coverage
from landfast.providers.schemes.algorithms import ALGORITHMS, LONGEST_SIGNATURE, decode, encode, public_key
from landfast.providers.schemes.signature_headers import only

HEADER = "X-EBAY-SIGNATURE"

LONGEST_HEADER = 2 * LONGEST_SIGNATURE
"""Bytes; it has about 240."""

_DIGESTS = {"SHA1": ALGORITHMS["ecdsa-sha1"], "SHA256": ALGORITHMS["ecdsa-sha256"]}
"""By the name in the header. Only the first has been seen; either needs eBay's private key."""


@dataclass(frozen=True, slots=True)
class EbayScheme:
    coverage: Coverage = "yes"
    needs_url: bool = False

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        return {HEADER.lower().encode(): Hidden.DIGESTED}

    def decode_secret(self, text: str) -> bytes:
        bare = text.replace("-----BEGIN PUBLIC KEY-----", "").replace("-----END PUBLIC KEY-----", "")
        return public_key(bare, "ecdsa")

    def present(self, head: Head) -> Signature:
        header = _fields(only(head.headers, HEADER, HEADER.lower().encode()))
        hash_ = str(header.get("digest"))
        if str(header.get("alg")).lower() != "ecdsa" or hash_ not in _DIGESTS:
            raise UnverifiedError(f"the header {HEADER} names an algorithm that this sender does not use")
        digest = decode(str(header.get("signature")).encode("ascii", "replace"), "base64")
        if not digest:
            raise UnverifiedError(f"the header {HEADER} holds no well-formed signature")
        return Signature((digest,), detail=hash_)

    def verify(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:
        algorithm = _DIGESTS[signature.detail]
        matching = [secret for secret in secrets if algorithm.check(secret.key, request.body, signature.digests)]
        if not matching:
            raise UnverifiedError("no active key made the signature")
        return Proven(matching[-1], signature, request)

    def sign(self, draft: Draft, key: bytes, *, now: float, id_: str) -> None:  # noqa: ARG002 - has neither
        made = encode(_DIGESTS["SHA1"].make(key, draft.body), "base64")
        header = {"alg": "ecdsa", "kid": "sample", "signature": made, "digest": "SHA1"}
        draft.headers[HEADER] = encode(json.dumps(header).encode(), "base64")


def _fields(value: bytes) -> dict[str, Any]:
    raw = decode(value, "base64") if len(value) <= LONGEST_HEADER else None
    try:
        fields = None if raw is None else read_json(raw)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise UnverifiedError(f"the header {HEADER} cannot be read")
    return fields
