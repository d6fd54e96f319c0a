"""One event: what came, what it was taken for, and what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, EventName
from landfast.admin.problems import NothingThereError
from landfast.admin.questions.events import EventRow, row_of
from landfast.domain.errors import LandfastError
from landfast.domain.lifecycle import State
from landfast.domain.summary import EventRecord, HistoryLine, InHand, InLane
from landfast.operations.ledger_side import ledger_side
from landfast.operations.readable import body_fields, json_or_text
from landfast.recovery.find import find_event
from landfast.recovery.held import BECAUSE
from landfast.recovery.redacted import redacted_record
from landfast.recovery.schedule import Schedule, schedules
from landfast.recovery.stored_request import no_body


class EventAsked(Asked):
    event: EventName


class LaneOfEvent(Answered):
    place: str
    behind: str | None
    """The id of the first event that holds the lane before it; None where it is the first itself."""


class EventView(Answered):
    event: EventRow
    headers: Any
    """`[[name, value], ...]`, as they came, without what proved who sent it."""
    body: str | None
    """As text, where it is text."""
    body_base64: str | None
    no_body: str
    """Why there is none any more; empty where there is one."""
    has_hidden: bool
    """Whether something is not shown here; an admin may ask for it all, at /revealed."""
    held_for: str
    """Why it is held, in words; empty where it is not."""
    came_again: Sequence[datetime]
    """When deliveries of it were answered as known: the first times and the newest; several of one second are one."""
    in_hand: InHand | None
    schedule: Sequence[Schedule]
    history: Sequence[HistoryLine]
    """Oldest first, each with the attempts that led to it."""
    lane: LaneOfEvent | None
    receipts: Sequence[Mapping[str, Any]]
    effects: Sequence[Mapping[str, Any]]
    ledger_problem: str
    """Why there are neither receipts nor effects to be seen; empty where the ledger answered."""


async def event(desk: Desk, asked: EventAsked) -> EventView:
    """One event, without what is hidden: secrets, card numbers, and the fields of the setting `redact`."""
    record = await found_event(desk, asked.event)
    return await _view(desk, record, reveal=False)


async def revealed(desk: Desk, asked: EventAsked) -> EventView:
    """One event, with all that is hidden elsewhere."""
    record = await found_event(desk, asked.event)
    return await _view(desk, record, reveal=True)


async def found_event(desk: Desk, name: str) -> EventRecord:
    record = await find_event(desk.archive, name)
    if record is None:
        raise NothingThereError(f"no event {name!r}: give its id or 6 digits of it or more, its key or SOURCE/KEY")
    return record


async def _view(desk: Desk, record: EventRecord, *, reveal: bool) -> EventView:
    redacted = redacted_record(record, desk.redaction)
    shown = record if reveal else redacted
    body = body_fields(shown.body)
    ledger, problem = await _ledger(desk, record, reveal=reveal)
    return EventView(
        event=row_of(shown.summary),
        headers=json_or_text(shown.headers),
        body=body.get("body"),
        body_base64=body.get("body_base64"),
        no_body=no_body(record),
        has_hidden=not reveal and redacted != record,
        held_for=BECAUSE.get(record.summary.reason, "an operator decides")
        if record.summary.state is State.HELD
        else "",
        came_again=record.came_again,
        in_hand=record.in_hand,
        schedule=schedules(record),
        history=shown.history,
        lane=_lane(await desk.archive.in_lane(record.summary.event_id)),
        receipts=ledger["receipts"],
        effects=ledger["effects"],
        ledger_problem=problem,
    )


def _lane(lane: InLane | None) -> LaneOfEvent | None:
    if lane is None:
        return None
    return LaneOfEvent(place=lane.place.hex(), behind=lane.behind.hex() if lane.behind else None)


async def _ledger(
    desk: Desk, record: EventRecord, *, reveal: bool
) -> tuple[Mapping[str, Sequence[Mapping[str, Any]]], str]:
    """The inbox's side is worth showing without it."""
    try:
        stores = await desk.stores()
        redaction = None if reveal else desk.redaction
        return await ledger_side(stores.ledger, stores.identity, record.summary, redaction), ""
    except LandfastError as error:
        return {"receipts": [], "effects": []}, str(error)
