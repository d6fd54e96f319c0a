"""What a handler or an effect returned, as the ledger keeps it."""

from __future__ import annotations

from typing import Any

import msgspec

from landfast.domain.errors import UserError
from landfast.domain.json_limits import excess
from landfast.processing.handlers.error_text import text_of
from landfast.processing.invoke import HandlerRaisedError

RESULT_BYTES_AT_MOST = 64 * 1024
"""Bytes of a stored result: ids and a compact response, not a second copy of the body."""


def encoded_result(whose: str, result: Any) -> bytes:
    """HandlerRaisedError where it cannot be kept; `whose` it is, a handler's or an effect's, is said then."""
    try:
        encoded = msgspec.json.encode(result, enc_hook=as_text)
    except Exception as error:  # RecursionError, or whatever a value's own class raises
        raise HandlerRaisedError(
            UserError(f"the {whose}'s return value must be JSON or None: {text_of(error)}")
        ) from error
    if what := excess(encoded):
        raise HandlerRaisedError(UserError(f"the {whose}'s return value {what}; return ids"))
    if len(encoded) > RESULT_BYTES_AT_MOST:
        raise HandlerRaisedError(
            UserError(f"the {whose}'s return value is over {RESULT_BYTES_AT_MOST} bytes; return ids")
        )
    return encoded


def as_text(value: Any) -> str:
    """What the encoder does not know: a class of strings, such as the key that `tx.stage` returns."""
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
