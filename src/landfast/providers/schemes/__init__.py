"""How senders prove who they are. A scheme is data about one kind of proof; a profile has one, or several in `AnyOf`.

SignedScheme    a signature over parts of the request: HMAC, plain hash, Ed25519, ECDSA, RSA      schemes/signed.py
TokenScheme     a token that both sides know, sent in clear: it proves the sender, not the body    schemes/token.py
JwtScheme       a JSON web token, mostly with a digest of the body in it                           schemes/jwt.py
JwsScheme       a detached JSON web signature over method, path, headers and body                  schemes/jws.py
SnsScheme       Amazon SNS: fields of the body, a certificate by address                           schemes/sns.py
PayPalScheme    PayPal: headers, webhook id and a checksum, a certificate by address               schemes/paypal.py
EbayScheme      eBay: a header that is JSON in base64, with a signature over the body              schemes/ebay.py
AnyOf           several of these, for a sender that has more than one way                          schemes/anyof.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

from landfast.domain.delivery import Head
from landfast.ports.provider import Hidden, Proven, Secret, Signature
from landfast.providers.request import Draft, Request

Coverage = Literal["yes", "checksum", "no"]
"""Whether a changed body is noticed. A checksum notices accidents only: whoever has one genuine request can make
another body with the same one. Where it is `no`, only the sender is proven."""


class Scheme(Protocol):
    @property
    def coverage(self) -> Coverage: ...

    @property
    def needs_url(self) -> bool:
        """Whether the public URL is part of what is signed: then the source must say it."""
        ...

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        """The headers, in small letters, that the proof is read from, and how much of each may be stored."""
        ...

    def decode_secret(self, text: str) -> bytes:
        """The key, from the text that the provider shows; a PublicKey for what everybody may know. ConfigError,
        without the secret in it, for one that cannot be any."""
        ...

    def present(self, head: Head) -> Signature:
        """What the head has of the signature; UnverifiedError where it can be refused already."""
        ...

    def verify(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:
        """The secret that matches, and the request as it was read: constant time, no early exit. UnverifiedError, or
        KeyNeeded."""
        ...

    def sign(self, draft: Draft, key: bytes, *, now: float, id_: str) -> None:
        """Make the draft a request that the provider could have sent. Where the key of `decode_secret` is a public one,
        this takes the private one that belongs to it, as PEM."""
        ...


@runtime_checkable
class SignsOnce(Protocol):
    """A scheme that does not cover the body, and signs a nonce: a proof that comes with two bodies is genuine with the
    first of them only."""

    @property
    def signs_once(self) -> bool: ...

    def proof(self, signature: Signature, request: Request) -> bytes | None:
        """Of a verified request: what was signed, the same bytes for the same proof. None where it covers the body."""
        ...


def once(scheme: Scheme) -> SignsOnce | None:
    return scheme if isinstance(scheme, SignsOnce) and scheme.signs_once else None
