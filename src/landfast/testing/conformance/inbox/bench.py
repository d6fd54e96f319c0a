"""What a driver's test module provides, and how the suite looks at an inbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from landfast.domain.flow import Flow
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import State
from landfast.domain.outcome import Claim
from landfast.domain.summary import EventRecord
from landfast.ports.audit import Auditable
from landfast.ports.erasure import ErasableInbox
from landfast.ports.inbox import Archive, Memory, Recorder, Switchboard, Workbench
from landfast.ports.sealed import KeyStore
from landfast.ports.store import Store
from landfast.testing.factory import LEASE, token


class DrivenInbox(
    Recorder, Workbench, Archive, Auditable, Memory, Switchboard, ErasableInbox, KeyStore, Store, Protocol
):
    """Everything that one driver object implements."""


class Bench(Protocol):
    @property
    def inbox(self) -> DrivenInbox:
        """Open, migrated and empty."""
        ...

    async def another(self) -> DrivenInbox:
        """A second instance, open on the same data; the bench closes it."""
        ...

    async def advance(self, seconds: float) -> None:
        """Move the time that the store goes by."""
        ...


async def look(inbox: DrivenInbox, event: EventId) -> EventRecord:
    record = await inbox.show(event)
    assert record is not None, "the event is not there"
    return record


async def state_of(inbox: DrivenInbox, event: EventId) -> State:
    return (await look(inbox, event)).summary.state


async def claim(inbox: DrivenInbox, number: int, *, limit: int = 1, lease: float = LEASE) -> Sequence[Claim]:
    return await inbox.claim(token=token(number), lease=lease, limit=limit)


async def claim_flows(inbox: DrivenInbox, number: int, flows: Sequence[Flow], *, limit: int = 1) -> Sequence[Claim]:
    return await inbox.claim(token=token(number), lease=LEASE, limit=limit, flows=flows)


async def claim_one(inbox: DrivenInbox, number: int) -> Claim:
    (only,) = await claim(inbox, number)
    return only


async def claim_suspect(inbox: DrivenInbox, number: int) -> Claim:
    suspect = await inbox.claim_suspect(token=token(number), lease=LEASE)
    assert suspect is not None, "no suspect was found"
    return suspect
