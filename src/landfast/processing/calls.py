"""How a handler is called: with its event and what else its parameters ask for, inside a span of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from landfast.domain.event import Event
from landfast.processing.handlers.parameters import TX
from landfast.processing.handlers.registry import Handler
from landfast.processing.handlers.transaction import BlockingTransaction, Transaction
from landfast.processing.work import Work
from landfast.telemetry import tracing


def of(handler: Handler, event: Event, lent: Transaction | BlockingTransaction) -> Callable[[], Any]:
    def given(kind: str) -> Any:
        return lent if kind == TX else lent.given(kind)

    by_position = [given(kind) for kind in handler.asked.by_position]
    by_name = {name: given(kind) for name, kind in (handler.asked.by_name or {}).items()}
    return partial(handler.function, event, *by_position, **by_name)


def traced(work: Work, function: Callable[[], Any]) -> Callable[[], Any]:
    handler, claim = work.handler, work.claim
    return tracing.traced(
        f"landfast handle {handler.name}",
        claim.event_id,
        lambda: {
            "key": claim.key,
            "source": claim.source,
            "type": claim.type,
            "run": claim.run,
            "attempt": work.event.attempt,
            "handler": handler.name,
        },
        function,
        is_async=handler.is_async,
    )
