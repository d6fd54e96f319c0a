"""What a dry run of a replay needs to know of an Inbox."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from landfast.app.forwards import sending_nothing
from landfast.app.sources import wants_of
from landfast.domain.errors import UserError
from landfast.domain.filter import Filter
from landfast.domain.outcome import NextRun
from landfast.domain.summary import EventSummary
from landfast.proving.rehearsal import Rehearsal, Rehearsed

if TYPE_CHECKING:
    from landfast.app.inbox import Inbox


async def rehearse(
    inbox: Inbox, chosen: Filter, how: NextRun, *, sample: int
) -> list[tuple[EventSummary, list[Rehearsed]]]:
    """Run the handlers of the newest events that match, so many at most, in transactions that are rolled back."""
    if not inbox.registry.handlers:
        raise UserError("replay: a dry run needs the handlers; add --app module:inbox, or app = ... in landfast.toml")
    inbox.registry.wants = {name: wants_of(source) for name, source in inbox.sources.items()}
    rehearsed = []
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(inbox.stores())
        for lifespan in inbox._lifespans:  # noqa: SLF001 - of the same package
            await stack.enter_async_context(lifespan())
        rehearsal = Rehearsal(stores.ledger, sending_nothing(inbox), stores.identity, inbox.clock)
        stack.callback(rehearsal.threads.close)
        for event in await stores.inbox.find(chosen, limit=sample):
            record = await stores.inbox.show(event.event_id)
            if record is not None and event.erased_at is None and event.body_expired_at is None:
                rehearsed.append((event, await rehearsal.rehearse(record, how)))
    return rehearsed
