"""What to sign a sample with: the secret that both sides hold, or a private key of one's own for the provider's.

A wrong kind of key would fail deep inside of the arithmetic; here it is told apart before, in one sentence.
"""

from __future__ import annotations

from typing import Any

from landfast.domain.errors import UserError
from landfast.ports.provider import PublicKey, Secret
from landfast.providers.profile import Profile
from landfast.providers.schemes import Scheme
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.compact_token import NAMES
from landfast.providers.schemes.ebay import EbayScheme
from landfast.providers.schemes.jws import JwsScheme
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.paypal import PayPalScheme
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.sns import SnsScheme

_KINDS = {"ed25519": "Ed25519", "ecdsa": "EC", "rsa": "RSA"}
_CURVES = {"ES256": " P-256", "ES384": " P-384", "ES512": " P-521"}


def signing_key(profile: Profile, secret: str | Secret) -> tuple[Scheme, bytes]:
    """The scheme that this secret is for, and its key; UserError where one cannot sign with the other."""
    schemes = profile.scheme.schemes if isinstance(profile.scheme, AnyOf) else (profile.scheme,)
    if isinstance(secret, str) and "PRIVATE KEY" in secret:
        scheme = next((each for each in schemes if kind_of_key(each)), schemes[0])
        _check_private(profile.name, scheme, secret)
        return scheme, secret.encode()
    key = secret.key if isinstance(secret, Secret) else profile.decode_secret(secret)
    if isinstance(key, PublicKey) or kind_of_key(schemes[0]):
        raise UserError(
            f"{profile.name} signs with a private key that only it has; give one of your own, as PEM (--private-key), "
            "and its public key as a secret of the source"
        )
    return schemes[0], key


def kind_of_key(scheme: Scheme) -> str:
    """The kind of private key that it is signed with; nothing where both sides hold the same secret."""
    match scheme:
        case SignedScheme(algorithm=algorithm):
            return _KINDS.get(algorithm.partition("-")[0], "")
        case JwtScheme(algorithms=(name, *_)) | JwsScheme(algorithm=name):
            return _KINDS.get(NAMES[name].partition("-")[0], "") + _CURVES.get(name, "")
        case EbayScheme():
            return "EC"
        case SnsScheme() | PayPalScheme():
            return "RSA"
    return ""


def _check_private(name: str, scheme: Scheme, text: str) -> None:
    needed = kind_of_key(scheme)
    if not needed:
        raise UserError(f"{name} signs with a secret that both sides hold; leave the private key out")
    before, begin, pem = text.partition("-----BEGIN")
    if not _kind(name, begin + pem).startswith(needed):
        raise UserError(f"{name} needs an {needed} private key")
    whom = "webhook id" if isinstance(scheme, PayPalScheme) else getattr(scheme, "secret_claim", None)
    if whom and not before.strip():
        raise UserError(f"{name}: the file needs the {whom} of the source as its first line, and then the private key")


def _kind(name: str, pem: str) -> str:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key: Any = load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise UserError(f"{name}: the private key cannot be read; give it as PEM, without a password") from None
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return f"EC P-{key.curve.key_size}"
    kinds = {ed25519.Ed25519PrivateKey: "Ed25519", rsa.RSAPrivateKey: "RSA"}
    return next((word for kind, word in kinds.items() if isinstance(key, kind)), "")
