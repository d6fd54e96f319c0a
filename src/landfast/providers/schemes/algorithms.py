"""The arithmetic under a signature, one object for each kind: check some, make one.

sha256, sha1, sha512 (and sha384)                  HMAC: both sides hold the secret
plain-sha256, plain-sha1                           a hash of content and secret, by senders that do not know HMAC
ed25519, ecdsa-sha256, ecdsa-sha1, rsa-sha256, ... the sender holds a private key, and we its public one
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from landfast.domain.errors import ConfigError
from landfast.ports.provider import PublicKey

LONGEST_SIGNATURE = 1024
"""Bytes: what an RSA key of 8192 bits makes."""

Content = bytes | tuple[bytes, bytes]
"""What is signed; in two halves where the secret stands between them."""


class Algorithm(Protocol):
    @property
    def size(self) -> int | None:
        """Bytes of a signature; None where they differ."""
        ...

    @property
    def is_public(self) -> bool:
        """Whether the key that checks is one that everybody may know."""
        ...

    def check(self, key: bytes, content: Content, signatures: Sequence[bytes]) -> bool:
        """Whether any is right. All are tried: how long it takes says nothing about which."""
        ...

    def make(self, key: bytes, content: Content) -> bytes: ...


class Hmac(NamedTuple):
    hash: str
    size: int
    is_public: bool = False

    def check(self, key: bytes, content: Content, signatures: Sequence[bytes]) -> bool:
        return _is_right(self.make(key, content), key, signatures)

    def make(self, key: bytes, content: Content) -> bytes:
        mac = _keyed(key, self.hash).copy()
        mac.update(content)  # type: ignore[arg-type]  # in halves only for Plain
        return mac.digest()


@lru_cache(maxsize=1024)
def _keyed(key: bytes, hash_: str) -> hmac.HMAC:
    """With the key in it already, which takes as long as a kilobyte of content."""
    return hmac.new(key, digestmod=hash_)


class Plain(NamedTuple):
    hash: str
    size: int
    is_public: bool = False

    def check(self, key: bytes, content: Content, signatures: Sequence[bytes]) -> bool:
        return _is_right(self.make(key, content), key, signatures)

    def make(self, key: bytes, content: Content) -> bytes:
        before, after = content if isinstance(content, tuple) else (b"", content)
        return hashlib.new(self.hash, before + key + after).digest()


def _is_right(expected: bytes, key: bytes, signatures: Sequence[bytes]) -> bool:
    is_right = False
    for signature in signatures:
        # No early exit: how long this takes says nothing about which signature was right.
        is_right |= hmac.compare_digest(expected, signature)
    # Anybody can sign with an empty key, and with one that everybody knows: those never count.
    return is_right and bool(key) and not isinstance(key, PublicKey)


class Asymmetric(NamedTuple):
    kind: str
    hash: str
    size: int | None = None
    is_public: bool = True

    def check(self, key: bytes, content: Content, signatures: Sequence[bytes]) -> bool:
        if not isinstance(key, PublicKey):
            return False
        loaded = _loaded(key)
        # Signature and key are public, so there is no secret that a duration could tell.
        return _kind_of(loaded) == self.kind and any(
            self._is_right(loaded, content, signature) for signature in signatures
        )

    def make(self, key: bytes, content: Content) -> bytes:
        from cryptography.hazmat.primitives import serialization

        private: Any = serialization.load_pem_private_key(key, None)
        made: bytes = private.sign(content, *self._arguments())
        return made

    def _is_right(self, key: Any, content: Content, signature: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature

        try:
            key.verify(signature, content, *self._arguments())
        except InvalidSignature:
            return False
        return True

    def _arguments(self) -> tuple[Any, ...]:
        return _arguments_of(self.kind, self.hash)


ALGORITHMS: dict[str, Algorithm] = {
    "sha256": Hmac("sha256", 32),
    "sha1": Hmac("sha1", 20),
    "sha384": Hmac("sha384", 48),
    "sha512": Hmac("sha512", 64),
    "plain-sha256": Plain("sha256", 32),
    "plain-sha1": Plain("sha1", 20),
    "ed25519": Asymmetric("ed25519", "", 64),
    "ecdsa-sha256": Asymmetric("ecdsa", "SHA256"),
    "ecdsa-sha384": Asymmetric("ecdsa", "SHA384"),
    "ecdsa-sha512": Asymmetric("ecdsa", "SHA512"),
    "ecdsa-sha1": Asymmetric("ecdsa", "SHA1"),
    "rsa-sha256": Asymmetric("rsa", "SHA256"),
    "rsa-sha384": Asymmetric("rsa", "SHA384"),
    "rsa-sha512": Asymmetric("rsa", "SHA512"),
    "rsa-sha1": Asymmetric("rsa", "SHA1"),
}


def public_key(text: str, *kinds: str) -> PublicKey:
    """A public key, or a certificate's, as PEM, as base64 of its DER, or as the bare 32 bytes of Ed25519 in hex or
    base64 (after an optional `whpk_`); it must be of one of the kinds, where any is named."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    text = text.strip()
    try:
        if "PRIVATE KEY" in text:
            raise ConfigError("the secret is a private key; the sender keeps that one, give its public key")
        if text.startswith("-----BEGIN CERTIFICATE"):
            key: Any = x509.load_pem_x509_certificate(text.encode()).public_key()
        elif text.startswith("-----"):
            key = serialization.load_pem_public_key(text.encode())
        else:
            raw = _unwritten(text.removeprefix("whpk_"))
            key = Ed25519PublicKey.from_public_bytes(raw) if len(raw) == 32 else serialization.load_der_public_key(raw)
    except (ValueError, TypeError) as error:
        raise ConfigError("the secret is no public key or certificate; give it as PEM, base64 or hex") from error
    if kinds and _kind_of(key) not in kinds:
        raise ConfigError(f"the secret is a key for {_kind_of(key)}, and this sender signs with {' or '.join(kinds)}")
    return PublicKey(key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))


def encode(digest: bytes, encoding: str) -> str:
    if encoding == "hex":
        return digest.hex()
    if encoding == "base64url":
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return base64.b64encode(digest).decode()


def decode(text: bytes, encoding: str) -> bytes | None:
    """Exactly one spelling for each digest in base64, two (upper and lower case) in hex; anything else is None."""
    try:
        if encoding == "hex":
            return binascii.unhexlify(text)
        if encoding == "base64url":
            padded = text.translate(_FROM_URLSAFE) + b"=" * (-len(text) % 4)
            digest = binascii.a2b_base64(padded, strict_mode=True)
            return digest if base64.urlsafe_b64encode(digest).rstrip(b"=") == text else None
        digest = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
    return digest if binascii.b2a_base64(digest, newline=False) == text else None


_FROM_URLSAFE = bytes.maketrans(b"-_+/", b"+/  ")


def _unwritten(text: str) -> bytes:
    compact = "".join(text.split())
    if len(compact) == 64 and all(letter in "0123456789abcdefABCDEF" for letter in compact):
        return bytes.fromhex(compact)
    return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)


def _kind_of(key: Any) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    kinds = {ed25519.Ed25519PublicKey: "ed25519", ec.EllipticCurvePublicKey: "ecdsa", rsa.RSAPublicKey: "rsa"}
    return next((name for kind, name in kinds.items() if isinstance(key, kind)), type(key).__name__)


@lru_cache(maxsize=256)
def _loaded(key: PublicKey) -> Any:
    from cryptography.hazmat.primitives import serialization

    return serialization.load_der_public_key(key)


@lru_cache(maxsize=16)
def _arguments_of(kind: str, hash_: str) -> tuple[Any, ...]:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding

    match kind:
        case "ecdsa":
            return (ec.ECDSA(getattr(hashes, hash_)()),)
        case "rsa":
            return (padding.PKCS1v15(), getattr(hashes, hash_)())
    return ()
