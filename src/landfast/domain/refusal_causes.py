"""Why a request was refused, in a word that stays the same, and what to do about each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from landfast.domain.errors import (
    BadCallError,
    BodyTooLargeError,
    ForbiddenError,
    FramingError,
    OverloadedError,
    TooManyError,
    UnknownSourceError,
    UnsupportedEncodingError,
    UnverifiedError,
    WrongMethodError,
)

UNVERIFIED, INTERNAL_ERROR = "unverified", "internal_error"

_CAUSES: Mapping[type[Exception], str] = MappingProxyType(
    {
        UnknownSourceError: "unknown_source",
        WrongMethodError: "wrong_method",
        UnverifiedError: UNVERIFIED,
        BodyTooLargeError: "body_too_large",
        UnsupportedEncodingError: "compressed",
        BadCallError: "bad_call",
        ForbiddenError: "forbidden",
        TooManyError: "too_many",
        FramingError: "malformed_request",
        OverloadedError: "overloaded",
    }
)

_CHANGED = (
    "something between the sender and Landfast changes the body: let the proxy pass it on as it is, and mount Landfast"
    " before whatever parses it"
)

FIXES: Mapping[str, str] = MappingProxyType(
    {
        "unknown_source": "correct the address in the sender's settings: it ends in /in/SOURCE; landfast sources list",
        "wrong_method": "nothing, if it was a browser; a sender must POST",
        UNVERIFIED: "of many at a time the cause is looked for in some only: see their lines beside this one, or cause="
        " in the log; or give one request to landfast verify-signature",
        "body_too_large": "set body_limit of the source higher, if its sender is meant to send so much",
        "compressed": "switch compression off at the sender or the proxy: what was signed cannot be told",
        "bad_call": "read the problem in the answer: a call of an endpoint needs Idempotency-Key, X-Request-Timestamp"
        " and a body that can be read",
        "forbidden": "add the sender's address to allow_from, or trusted_proxies for a proxy of yours; see https_only",
        "too_many": "raise rate, key_rate, event_rate or byte_rate of the source; the sender comes again",
        "malformed_request": "look at the proxy in front: it sends what is no HTTP, or breaks off",
        "overloaded": "bring the inbox back (look at its line here), or set a spool; senders come again",
        INTERNAL_ERROR: "read request_failed in the log, and report it",
        "no-secret-matches": "copy the signing secret of this very endpoint from the sender's settings into secrets of"
        " the source, and restart or reload; landfast sources check",
        "no-secret-active": "none of its secrets counts now: correct from and until",
        "no-header": "it was not signed, or a proxy takes the header away: set a secret at the sender, let it pass",
        "malformed-header": "compare the provider of the source with who really sends",
        "timestamp": "set the clock of this machine right (NTP); if it came late, raise tolerance of the source",
        "retired-secret": "the sender still signs with a retired secret: give it the new one, or take until back",
        "future-secret": "the sender signs with a secret that counts later: correct from",
        "other-source": "the sender has another source's address or secret: give it the address of its own source",
        "other-provider": "correct provider of the source",
        "secret-form": "copy the secret again, whole and as it is shown: prefix and encoding belong to it",
        "wrong-url": "set public_url of the source to the address that the sender was given",
        "unknown-version": "have the sender sign with the version that the provider's page names",
        "signature-encoding": "have the sender write its signature as the provider's page says",
        "handshake-token": "give the sender the verify token that the source's settings have",
        "body-newline": _CHANGED,
        "body-line-ends": _CHANGED,
        "body-bom": _CHANGED,
        "body-reencoded": _CHANGED,
        "body-parsed": _CHANGED,
        "body-reserialised": _CHANGED,
    }
)


def cause_of(error: Exception) -> str:
    return _CAUSES.get(type(error), INTERNAL_ERROR)


def fix_of(cause: str) -> str:
    return FIXES.get(cause, FIXES[UNVERIFIED])
