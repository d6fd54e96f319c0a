"""Secrets for tests: for any provider, what its source is given and what its sender signs with. They prove nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from landfast.domain.errors import UserError
from landfast.intake.source import Source
from landfast.intake.verify import examine
from landfast.ports.provider import Secret
from landfast.providers import Profile
from landfast.providers.signing import sample, signed_request

TEXT = "whsec_bGFuZGZhc3QtdGVzdC1zZWNyZXQ="
HEX = "6c616e64666173742d746573742d736563726574"
BASIC = "landfast:a password for tests alone"
ID = "LANDFASTTESTWEBHOOK1"
"""For a sender that signs an id of ours with its own key."""
TOPIC = "arn:aws:sns:eu-west-1:123456789012:shore"
"""For a sender whose key signs for all of its customers: what the sample of Amazon SNS says that it is about."""

_NOW = 1_767_323_045.0


class Pair(NamedTuple):
    secrets: tuple[str, ...]
    """As a source is given them."""
    signing: str
    """As `sign` takes it."""


def pair_for(profile: Profile, *, url: str = "") -> Pair:
    """The first that works, there and back; UserError for a provider whose requests nobody else can sign."""
    for pair in _candidates():
        if _works(profile, pair, url or "https://hooks.example.com/in/test"):
            return pair
    raise UserError(f"{profile.name}: nobody but the provider can sign for it; deliver what you recorded instead")


def _candidates() -> Iterator[Pair]:
    for text in (TEXT, HEX, BASIC):
        yield Pair((text,), text)
    for kind in ("ed25519", "p256", "rsa", "p521"):
        private, public = _drawn(kind)
        yield Pair((public,), private)
        yield Pair((public, ID), f"{ID}\n{private}")
        yield Pair((public, TOPIC), private)


def _works(profile: Profile, pair: Pair, url: str) -> bool:
    try:
        body = sample(profile, now=_NOW)
        draft = signed_request(profile, body, pair.signing, now=_NOW, url=url)
        secrets = tuple(Secret("test", profile.decode_secret(text)) for text in pair.secrets)
        source = Source("test", profile, secrets, public_url=url)
        return bool(examine(source, draft.head(), draft.body, now=datetime.fromtimestamp(_NOW, UTC)).identities)
    except Exception:  # noqa: BLE001 - a key of another kind fails in whatever way it likes
        return False


@cache
def _drawn(kind: str) -> tuple[str, str]:
    """A private and a public key, as PEM, new in each process."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    private: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
    match kind:
        case "ed25519":
            private = ed25519.Ed25519PrivateKey.generate()
        case "rsa":
            private = rsa.generate_private_key(65537, 2048)
        case _:
            private = ec.generate_private_key(ec.SECP256R1() if kind == "p256" else ec.SECP521R1())
    kept = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    shown = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return kept.decode(), shown.decode()
