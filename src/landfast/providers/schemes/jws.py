"""TrueLayer: a detached JSON web signature, whose payload is put together from method, path, headers and body.

A key of the provider's, as PEM, may stand as the secret, and is then used instead of its published ones. Otherwise the
secret is the id of the client, for the log: the address of the keys says whose they are.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from msgspec.structs import replace

from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import UnverifiedError
from landfast.ports.provider import Hidden, KeyNeeded, Proven, PublicKey, Secret, Signature
from landfast.providers.request import Draft, Request
from landfast.providers.schemes import Coverage
from landfast.providers.schemes.algorithms import public_key
from landfast.providers.schemes.compact_token import LONGEST_TOKEN, Token, compact, header_of, is_signed
from landfast.providers.schemes.keyforms import decode_key
from landfast.providers.schemes.keysets import address_in, key_in
from landfast.providers.schemes.signature_headers import only

MOST_HEADERS = 16
"""Headers that one signature names; they have two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JwsScheme:
    header: str
    algorithm: str
    headers_field: str
    """The field of the signature's own header that lists the signed headers."""
    keys: str
    """The address at which the provider keeps its keys; `jku` must name it."""
    sandbox_keys: str | None = None
    """The same for its sandbox."""

    coverage: Coverage = field(default="yes", init=False)
    needs_url: bool = field(default=True, init=False)
    """The path is signed, and a proxy may change it."""

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        return {self.header.lower().encode(): Hidden.DIGESTED}

    def decode_secret(self, text: str) -> bytes:
        is_key = text.lstrip().startswith("-----")
        return public_key(text, "ecdsa", "rsa") if is_key else decode_key(text, "text")

    def fixed_keys(self, settings: Mapping[str, str]) -> str | None:
        return address_in(settings, self.keys, self.sandbox_keys)

    def present(self, head: Head) -> Signature:
        value = only(head.headers, self.header, self.header.lower().encode())
        parts = value.split(b".", 3)
        if len(parts) != 3 or parts[1] or len(value) > LONGEST_TOKEN:
            raise UnverifiedError("the signature is not a detached one of three parts")
        return Signature(detail=(parts[0], *header_of(parts[0], parts[2], (self.algorithm,))))

    def verify(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:
        encoded, header, digest = signature.detail
        payload, headers = self._payload(header, request)
        signed = b"%b.%b" % (encoded, base64.urlsafe_b64encode(payload).rstrip(b"="))
        token = Token(self.algorithm, header.get("kid"), {}, signed, digest)
        matching: Secret | None = None
        for secret in secrets:
            key = secret.key if isinstance(secret.key, PublicKey) else self._fetched(header, request)
            if is_signed(token, key):
                matching = secret
        if matching is None:
            raise UnverifiedError("no active key made the signature")
        # Only the headers that were signed: time and type are read from no other.
        return Proven(matching, signature, replace(request, head=replace(request.head, headers=headers)))

    def sign(self, draft: Draft, key: bytes, *, now: float, id_: str) -> None:  # noqa: ARG002 - has neither
        header = {"alg": self.algorithm, "kid": "sample", self.headers_field: ",".join(draft.headers)}
        payload, _ = self._payload(header, draft.request())
        encoded, _, digest = compact(header, payload, key).split(".")
        draft.headers[self.header] = f"{encoded}..{digest}"

    def _payload(self, header: Mapping[str, object], request: Request) -> tuple[bytes, Headers]:
        """What was signed, and which headers are in it."""
        names = [name for name in str(header.get(self.headers_field) or "").split(",") if name]
        if len(names) > MOST_HEADERS:
            raise UnverifiedError("the signature names more headers than any sender sends")
        path = urlsplit(request.url).path or request.head.path
        pairs = [
            (key := name.encode("latin-1", "replace"), only(request.head.headers, name, key.lower())) for name in names
        ]
        lines = [b"%b: %b\n" % pair for pair in pairs]
        return b"".join([f"{request.head.method} {path}\n".encode(), *lines, request.body]), Headers(pairs)

    def _fetched(self, header: Mapping[str, object], request: Request) -> PublicKey:
        url = address_in(request.settings, self.keys, self.sandbox_keys)
        if header.get("jku") != url:
            raise UnverifiedError("the address of the key is not the one of the source's environment")
        document = request.keys.get(url)
        if document is None:
            raise KeyNeeded(url, is_fixed=True)
        key = key_in(document, str(header.get("kid")))
        if key is None:
            raise KeyNeeded(url, is_outdated=True, is_fixed=True)
        return key
