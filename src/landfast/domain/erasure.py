"""What is left of an event that was erased: that it was there, what became of it, and who had it erased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from landfast.domain.ids import EventId, ReceiptDigest
from landfast.domain.outcome import Attempt

ERASED = "erased"
"""The reason of an event that was erased before it was done, and the error of an effect that was not performed."""

EMPTY_HEADERS, EMPTY_BODY = b"[]", b""


class Erasure(NamedTuple):
    event_id: EventId
    erased_at: datetime
    who: str
    is_clean: bool = True
    """Whether nothing is left of it in the database's own files. A ledger does not remember it."""
    source: str | None = None
    key: str | None = None
    """None where its body is not in the inbox any more."""


class Erased(NamedTuple):
    """How a ledger knows an event."""

    event_id: EventId
    digest: ReceiptDigest


def without_texts(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Which handlers ran, how often and how it ended stays: a proof may need it."""
    return tuple(replace(each, message="", trace="") for each in attempts)
