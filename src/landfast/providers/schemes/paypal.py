"""PayPal: headers, the webhook's id and a checksum of the body, signed by a key whose certificate a header names.

The id of the webhook stands where others have their secret; a certificate may stand beside it, and is then used instead
of the one by address. A CRC32 is no digest: whoever has one genuine request can make another body for it. So what was
signed counts for one body only: the id of the transmission makes it another each time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from landfast.domain.delivery import Head
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.ports.provider import Hidden, KeyNeeded, Proven, PublicKey, Secret, Signature
from landfast.providers.request import Draft, Request
from landfast.providers.schemes import Coverage
from landfast.providers.schemes.algorithms import ALGORITHMS, public_key
from landfast.providers.schemes.keysets import key_in, pinned
from landfast.providers.schemes.signature_headers import only
from landfast.providers.schemes.signed import SignedScheme

CERTIFICATES = re.compile(r"https://api(-m)?\.paypal\.com/v1/notifications/certs/[A-Za-z0-9._-]+")
SANDBOX_CERTIFICATES = re.compile(r"https://api(-m)?\.sandbox\.paypal\.com/v1/notifications/certs/[A-Za-z0-9._-]+")
CERTIFIED = "messageverificationcerts.paypal.com"

_RSA = ALGORITHMS["rsa-sha256"]
_HEADERS = SignedScheme(
    signature="header:PAYPAL-TRANSMISSION-SIG",
    algorithm="rsa-sha256",
    encoding="base64",
    content="{header:PAYPAL-TRANSMISSION-ID}|{timestamp}|{header:webhook-id}|{crc32}",
    timestamp="header:PAYPAL-TRANSMISSION-TIME",
    timestamp_unit="iso",
    require={"PAYPAL-AUTH-ALGO": "SHA256withRSA"},
)
"""Reads and writes the headers; what is signed is put together here, because the webhook's id is in no header."""


@dataclass(frozen=True, slots=True)
class PayPalScheme:
    coverage: Coverage = field(default="checksum", init=False)
    signs_once: bool = field(default=True, init=False)
    needs_url: bool = field(default=False, init=False)

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        return _HEADERS.hidden_headers

    def decode_secret(self, text: str) -> bytes:
        if text.lstrip().startswith("-----"):
            return public_key(text, "rsa")
        if not text.strip().isalnum():
            raise ConfigError("the secret must be the id of the webhook, such as 4JH86294D6297924G, or a certificate")
        return text.strip().encode()

    def present(self, head: Head) -> Signature:
        return _HEADERS.present(head)

    def verify(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:
        webhooks = [secret for secret in secrets if not isinstance(secret.key, PublicKey)]
        certified = [secret.key for secret in secrets if isinstance(secret.key, PublicKey)]
        if not webhooks:
            raise UnverifiedError("the source names no webhook of PayPal's")
        keys = certified or [_fetched(request)]
        matching: Secret | None = None
        for webhook in webhooks:
            content = _content(signature, request, webhook.key)
            if any(_RSA.check(key, content, signature.digests) for key in keys):
                matching = webhook
        if matching is None:
            raise UnverifiedError("the key of the certificate did not sign this body for this webhook")
        return Proven(matching, signature, request)

    def proof(self, signature: Signature, request: Request) -> bytes:
        return _content(signature, request, b"")

    def sign(self, draft: Draft, key: bytes, *, now: float, id_: str) -> None:
        """The key is the webhook's id and the private key, one line and then the PEM."""
        webhook, _, private = key.partition(b"\n")
        draft.headers["PAYPAL-TRANSMISSION-ID"] = id_
        draft.headers["PAYPAL-CERT-URL"] = "https://api.paypal.com/v1/notifications/certs/CERT-sample"
        draft.headers["webhook-id"] = webhook.decode()
        _HEADERS.sign(draft, private, now=now, id_=id_)
        del draft.headers["webhook-id"]


def _content(signature: Signature, request: Request, webhook: bytes) -> bytes:
    id_ = only(request.head.headers, "PAYPAL-TRANSMISSION-ID", b"paypal-transmission-id")
    if b"|" in id_ or len(id_) > 256:
        raise UnverifiedError("the transmission id holds the delimiter that ends it")
    return b"%b|%b|%b|%b" % (id_, signature.timestamp or b"", webhook, request.crc32())


def _fetched(request: Request) -> PublicKey:
    named = only(request.head.headers, "PAYPAL-CERT-URL", b"paypal-cert-url").decode("latin-1")
    is_sandbox = request.settings.get("environment") == "sandbox"
    if (CERTIFICATES if is_sandbox else SANDBOX_CERTIFICATES).fullmatch(named):
        raise UnverifiedError("the address of the key is not the one of the source's environment")
    url = pinned(named, SANDBOX_CERTIFICATES if is_sandbox else CERTIFICATES)
    document = request.keys.get(url)
    if document is None:
        raise KeyNeeded(url, certificate_for=CERTIFIED)
    key = key_in(document)
    if key is None:
        raise UnverifiedError("there is no certificate at the address that the request names")
    return key
