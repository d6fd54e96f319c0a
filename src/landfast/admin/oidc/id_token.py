"""Whether an ID token is what this identity provider says of somebody, to us, now, in answer to our question: pure."""

from __future__ import annotations

import hmac
from typing import Any

from landfast.config.oidc import OidcSettings
from landfast.domain.errors import UnverifiedError
from landfast.providers.schemes.compact_token import Token, is_signed, parsed
from landfast.providers.schemes.keysets import key_in

ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA")
"""Of public keys alone: none, and whatever a client's secret could sign, are unknown here."""

LEEWAY_SECONDS = 60.0
"""By which the clocks of two machines may differ."""


class UnknownKeyError(Exception):
    """It names a key that the set has not, perhaps because the set is old."""


def token_in(text: object) -> Token:
    """Decoded, and not believed."""
    if not isinstance(text, str) or not text.isascii():
        raise UnverifiedError("there is no ID token")
    return parsed(text.encode(), ALGORITHMS)


def claims_of(token: Token, keys: bytes, settings: OidcSettings, *, nonce: str, now: float) -> dict[str, Any]:
    """What is proved. UnverifiedError says what is wrong with it."""
    key = key_in(keys, token.key_id)
    if key is None:
        raise UnknownKeyError
    if not is_signed(token, key):
        raise UnverifiedError("its signature is not the identity provider's")
    claims = token.claims
    if claims.get("iss") != settings.issuer:
        raise UnverifiedError("its iss is another issuer than the setting")
    audience = claims.get("aud")
    named = audience if isinstance(audience, list) else [audience]
    if settings.client_id not in named or claims.get("azp", settings.client_id) != settings.client_id:
        raise UnverifiedError("its aud or azp is another client than client_id")
    if len(named) > 1 and "azp" not in claims:
        raise UnverifiedError("its aud names several clients, and there is no azp")
    if not _number(claims, "exp") > now - LEEWAY_SECONDS:
        raise UnverifiedError("it has expired")
    if _number(claims, "iat") > now + LEEWAY_SECONDS:
        raise UnverifiedError("it is from the future: the clocks differ")
    given = claims.get("nonce")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode("utf-8", "replace"), nonce.encode()):
        raise UnverifiedError("its nonce is another: it answers somebody else's question")
    return claims


def _number(claims: dict[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**12:
        raise UnverifiedError(f"its {name} is no time")
    return value
