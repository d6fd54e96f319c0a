"""The state that an entity is in, in each lifecycle that has seen it or has events that wait for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from landfast.domain.filter import Filter
from landfast.domain.ids import InboxId
from landfast.domain.lane import lane_of
from landfast.domain.lane_memory import StateKey
from landfast.domain.lifecycle import State
from landfast.domain.machine import ABSENT, parked_for
from landfast.ports.inbox import Inbox
from landfast.ports.ledger import Ledger
from landfast.processing.handlers.registry import Handler

COUNTED_AT_MOST = 1000
"""Events that wait for one entity: more are as good as so many."""


class EntityState(NamedTuple):
    source: str
    lifecycle: str
    state: str
    waiting: int
    """Events that are parked until it moves."""


async def states_of(
    inbox: Inbox,
    ledger: Ledger,
    identity: InboxId,
    handlers: Iterable[Handler],
    entity: str,
    lifecycles: Collection[str],
) -> list[EntityState]:
    """By source and lifecycle."""
    asked = sorted({(one.source, str(one.lifecycle)) for one in handlers if one.lifecycle in lifecycles})
    keys = [StateKey(lane_of(identity, source, entity), name) for source, name in asked]
    states = await ledger.states(keys) if keys else []
    found = []
    for (source, name), key, state in zip(asked, keys, states, strict=True):
        parked = Filter(source=source, state=State.PARKED, reason=parked_for(key))
        waiting = len(await inbox.find(parked, limit=COUNTED_AT_MOST))
        if state is not None or waiting:
            found.append(EntityState(source, name, state or ABSENT, waiting))
    return found
