"""Landfast: a webhook inbox that proves, keeps and processes each event exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from landfast.app import Inbox
    from landfast.domain.arrival import Arrival
    from landfast.domain.backoff import Backoff
    from landfast.domain.event import Effect, Event
    from landfast.domain.response import Response
    from landfast.domain.verdict import GiveUp, RetryLater, WaitFor
    from landfast.processing.handlers.stage import Staged
    from landfast.processing.handlers.transaction import BlockingTransaction, Transaction
    from landfast.recovery.dead_letters import DeadLetter

__version__ = "0.1.0"

__all__ = [
    "Arrival",
    "Backoff",
    "BlockingTransaction",
    "DeadLetter",
    "Effect",
    "Event",
    "GiveUp",
    "Inbox",
    "Response",
    "RetryLater",
    "Staged",
    "Transaction",
    "WaitFor",
]

_HOMES = {
    "Arrival": "landfast.domain.arrival",
    "Backoff": "landfast.domain.backoff",
    "BlockingTransaction": "landfast.processing.handlers.transaction",
    "DeadLetter": "landfast.recovery.dead_letters",
    "Effect": "landfast.domain.event",
    "Event": "landfast.domain.event",
    "GiveUp": "landfast.domain.verdict",
    "Inbox": "landfast.app",
    "Response": "landfast.domain.response",
    "RetryLater": "landfast.domain.verdict",
    "Staged": "landfast.processing.handlers.stage",
    "Transaction": "landfast.processing.handlers.transaction",
    "WaitFor": "landfast.domain.verdict",
}


def __getattr__(name: str) -> Any:
    # Late, so that `landfast --help` and a tool that only wants the version do not wait for the database drivers.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'landfast' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    """What a REPL completes: the public names, which are not here yet."""
    return sorted(__all__)
