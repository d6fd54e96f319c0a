"""What a driver's test module provides, and how the suite looks at an inbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from landfast.domain.flow import Flow
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import State
from landfast.domain.outcome import Claim
from landfast.domain.summary import EventRecord
from landfast.ports.inbox import Inbox
from landfast.testing.factory import LEASE, token


class Bench(Protocol):
    @property
    def inbox(self) -> Inbox:
        """Open, migrated and empty."""
        ...

    async def another(self) -> Inbox:
        """A second instance, open on the same data; the bench closes it."""
        ...

    async def advance(self, seconds: float) -> None:
        """Move the time that the store goes by."""
        ...


async def look(inbox: Inbox, event: EventId) -> EventRecord:
    record = await inbox.show(event)
    assert record is not None, "the event is not there"
    return record


async def state_of(inbox: Inbox, event: EventId) -> State:
    return (await look(inbox, event)).summary.state


async def claim(inbox: Inbox, number: int, *, limit: int = 1, lease: float = LEASE) -> Sequence[Claim]:
    return await inbox.claim(token=token(number), lease=lease, limit=limit)


async def claim_flows(inbox: Inbox, number: int, flows: Sequence[Flow], *, limit: int = 1) -> Sequence[Claim]:
    return await inbox.claim(token=token(number), lease=LEASE, limit=limit, flows=flows)


async def claim_one(inbox: Inbox, number: int) -> Claim:
    (only,) = await claim(inbox, number)
    return only


async def claim_suspect(inbox: Inbox, number: int) -> Claim:
    suspect = await inbox.claim_suspect(token=token(number), lease=LEASE)
    assert suspect is not None, "no suspect was found"
    return suspect
