"""Lanes that wait, and lifecycles with the states that entities are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, Name, Rows
from landfast.admin.route import Nothing
from landfast.operations.entity_states import states_of
from landfast.operations.lifecycle_diagram import as_svg


class LanesAsked(Asked):
    limit: Rows = 50


class LaneView(Answered):
    source: str
    entity: str
    waiting: int
    event: str
    """The id of the event that it waits for."""
    state: str
    """Of that event."""
    since: datetime | None
    handler: str
    reason: str
    error: str


class Lanes(Answered):
    lanes: Sequence[LaneView]
    """Those first in which the most waits."""


class LifecycleView(Answered):
    name: str
    states: Sequence[str]
    transitions: Mapping[str, Sequence[str]]
    types: Mapping[str, str]
    deadline: float
    runs_at_deadline: bool
    svg: str


class Lifecycles(Answered):
    lifecycles: Sequence[LifecycleView]


class EntityAsked(Asked):
    entity: Name


class EntityState(Answered):
    source: str
    lifecycle: str
    state: str
    waiting: int
    """Events that are parked until it moves."""


class EntityStates(Answered):
    states: Sequence[EntityState]
    """None where no lifecycle has seen it."""


async def lanes(desk: Desk, asked: LanesAsked) -> Lanes:
    """Entities whose events wait for an earlier one."""
    return Lanes(
        lanes=[
            LaneView(
                source=one.source,
                entity=one.entity,
                waiting=one.waiting,
                event=one.event_id.hex(),
                state=one.state,
                since=one.since,
                handler=one.handler,
                reason=one.reason,
                error=one.error,
            )
            for one in await desk.archive.lanes(limit=asked.limit)
        ]
    )


async def lifecycles(desk: Desk, _asked: Nothing) -> Lifecycles:
    """Lifecycles as they are declared."""
    return Lifecycles(
        lifecycles=[
            LifecycleView(
                name=machine.name,
                states=machine.states,
                transitions=machine.transitions,
                types=machine.types,
                deadline=machine.deadline,
                runs_at_deadline=machine.runs_at_deadline,
                svg=as_svg(machine),
            )
            for machine in desk.inbox.registry.machines.values()
        ]
    )


async def entity(desk: Desk, asked: EntityAsked) -> EntityStates:
    """The states that an entity is in, by lifecycle."""
    stores = await desk.stores()
    registry = desk.inbox.registry
    found = await states_of(
        stores.inbox, stores.ledger, stores.identity, registry.handlers, asked.entity, registry.machines
    )
    return EntityStates(states=[EntityState(**each._asdict()) for each in found])
