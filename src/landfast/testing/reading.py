"""What a test reads: events and effects as the two databases have them, and whether each was handled once."""

from __future__ import annotations

from collections import Counter

import msgspec

from landfast.app.stores import Stores
from landfast.config import nearest
from landfast.domain.errors import UserError
from landfast.domain.filter import Filter
from landfast.domain.ids import receipt_digest
from landfast.domain.lifecycle import State
from landfast.domain.machine import shown_reason
from landfast.domain.outcome import Outcome
from landfast.domain.summary import EventSummary
from landfast.processing.handlers.registry import Registry
from landfast.testing.draining import all_events
from landfast.testing.reports import EffectReport, EventReport

EFFECTS_AT_MOST = 10_000
"""As many as one event may stage."""


async def event_reports(stores: Stores, wanted: Filter) -> list[EventReport]:
    """Oldest first."""
    found = [each async for each in all_events(stores, wanted)]
    return [_report(each) for each in reversed(found)]


async def effect_reports(stores: Stores, name: str | None) -> list[EffectReport]:
    """Oldest first."""
    found: list[EffectReport] = []
    for event in reversed([each async for each in all_events(stores, Filter())]):
        digest = receipt_digest(stores.identity, event.source, event.key)
        rows = await stores.ledger.list(digest=digest, limit=EFFECTS_AT_MOST)
        found += [
            EffectReport(
                name=row["name"],
                arguments=msgspec.json.decode(row["arguments"]),
                key=row["key"],
                state=str(row["state"]),
                attempts=row["attempts"],
                event=msgspec.json.decode(row["context"]),
                error=row["error"],
                named=row["step"].named,
                after=row["step"].after,
                result=None if row["result"] is None else msgspec.json.decode(row["result"]),
            )
            for row in reversed(rows)
            if name in (None, row["name"])
        ]
    return found


async def check_handled_once(stores: Stores, registry: Registry, handler: str | None, key: str | None) -> None:
    """AssertionError, with what became of it, for the first event that was not."""
    names = [each.name for each in registry.handlers]
    if handler is not None and handler not in names:
        hint = nearest(handler, names) or f"; there are {', '.join(names) or 'none'}"
        raise UserError(f"assert_handled_once: there is no handler {handler!r}{hint}")
    checked = 0
    for event in [each async for each in all_events(stores, Filter(key=key))]:
        takers = [each.name for each in registry.handlers_for(event.source, event.type) if handler in (None, each.name)]
        checked += len(takers)
        for name in takers:
            _check(event, name, await _done(stores, event))
    if not checked:
        what = f" with the key {key!r}" if key else ""
        whom = f"{handler} takes" if handler else "a handler takes"
        raise AssertionError(f"no event{what} was delivered that {whom}")


async def _done(stores: Stores, event: EventSummary) -> Counter[str]:
    digest = receipt_digest(stores.identity, event.source, event.key)
    receipts = await stores.ledger.receipts([digest])
    return Counter(str(each.key.handler) for each in receipts if each.outcome is Outcome.DONE)


def _check(event: EventSummary, handler: str, done: Counter[str]) -> None:
    why = (
        f": {event.error}: {event.message}"
        if event.error
        else f" ({shown_reason(event.reason)})"
        if event.reason
        else ""
    )
    if done[handler] > 1:
        raise AssertionError(f"{handler} has handled {event.key} {done[handler]} times, once in each forced run")
    if not done[handler]:
        raise AssertionError(f"{handler} has not handled {event.key}, which is {event.state}{why}")
    if event.state is not State.DONE:
        raise AssertionError(f"{handler} has handled {event.key}, but the event is {event.state}{why}")


def _report(event: EventSummary) -> EventReport:
    return EventReport(
        id=event.event_id.hex(),
        source=event.source,
        type=event.type,
        key=event.key,
        state=str(event.state),
        run=event.run,
        redelivered=event.redelivered,
        handler=event.handler,
        error=event.error,
        message=event.message,
        due_at=event.due_at,
    )
