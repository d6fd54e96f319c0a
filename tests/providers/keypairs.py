"""Keys of a sender, made for this run: what each provider would keep, and what it would show us."""

from __future__ import annotations

from functools import cache

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from landfast.ports.provider import Secret
from landfast.providers import Profile
from landfast.providers.catalogue import PROFILES
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.token import TokenScheme

WEBHOOK = "4JH86294D6297924G"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:shore"
TEXT = "a secret of the sender, long enough"
HEX = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
ACCOUNT = "pusher@north-pier.iam.gserviceaccount.com"
STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

FORMS = {"hex": HEX, "base64": STANDARD, "whsec": STANDARD, "basic": f"user:{TEXT}"}
"""By the form in which a provider shows its secret; the others take any text."""

KINDS = {
    "plaid": "ecdsa",
    "discord-interactions": "ed25519",
    "discord-events": "ed25519",
    "postal": "rsa",
    "sendgrid": "ecdsa",
    "aws-sns": "rsa",
    "google-pubsub": "rsa",
    "paypal": "rsa",
    "truelayer": "p521",
    "paddle-classic": "rsa",
    "ebay": "ecdsa",
}
"""The providers that sign with a private key."""


@cache
def pair(kind: str) -> tuple[str, str]:
    """The private and the public key, as PEM."""
    private: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
    if kind in {"ecdsa", "p521"}:
        private = ec.generate_private_key(ec.SECP256R1() if kind == "ecdsa" else ec.SECP521R1())
    elif kind == "ed25519":
        private = ed25519.Ed25519PrivateKey.generate()
    else:
        private = rsa.generate_private_key(65537, 2048)
    secret = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    shown = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return secret.decode(), shown.decode()


def sender_secret(name: str) -> str:
    """What the sender signs with."""
    if name in KINDS:
        private = pair(KINDS[name])[0]
        whom = {"paypal": WEBHOOK, "google-pubsub": ACCOUNT}.get(name)
        return f"{whom}\n{private}" if whom else private
    return FORMS.get(form_of(name), TEXT)


def form_of(name: str) -> str:
    scheme = PROFILES[name].scheme if name in PROFILES else None
    first = scheme.schemes[0] if isinstance(scheme, AnyOf) else scheme
    if isinstance(first, TokenScheme) and first.is_basic:
        return "basic"
    return first.secret if isinstance(first, SignedScheme) else "text"


def our_secrets(profile: Profile) -> tuple[Secret, ...]:
    """What the source is given for it."""
    texts = [pair(KINDS[profile.name])[1]] if profile.name in KINDS else [sender_secret(profile.name)]
    texts += {"paypal": [WEBHOOK], "aws-sns": [TOPIC], "google-pubsub": [ACCOUNT]}.get(profile.name, [])
    return tuple(Secret(f"secret {number}", profile.decode_secret(text)) for number, text in enumerate(texts))
