"""Landfast: a webhook inbox that proves, keeps and processes each event exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from landfast.app import Inbox
    from landfast.domain.backoff import Backoff
    from landfast.domain.event import Effect, Event
    from landfast.domain.verdict import GiveUp, RetryLater
    from landfast.processing.handlers.transaction import BlockingTransaction, Transaction

__version__ = "0.1.0"

__all__ = ["Backoff", "BlockingTransaction", "Effect", "Event", "GiveUp", "Inbox", "RetryLater", "Transaction"]

_HOMES = {
    "Backoff": "landfast.domain.backoff",
    "BlockingTransaction": "landfast.processing.handlers.transaction",
    "Effect": "landfast.domain.event",
    "Event": "landfast.domain.event",
    "GiveUp": "landfast.domain.verdict",
    "Inbox": "landfast.app",
    "RetryLater": "landfast.domain.verdict",
    "Transaction": "landfast.processing.handlers.transaction",
}


def __getattr__(name: str) -> Any:
    # Late, so that `landfast --help` and a tool that only wants the version do not wait for the database drivers.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'landfast' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)
