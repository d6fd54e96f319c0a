"""When a failed event is tried again and given up, as an operator without the application sees it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from landfast.cli.events import schedule_text
from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Tries
from landfast.inboxes.sqlite import SqliteInbox
from landfast.recovery.schedule import Schedule, schedules
from landfast.testing.clock import ManualClock
from landfast.testing.conformance.inbox.bench import claim_one, look
from landfast.testing.factory import DAWN, delivery, event_in, settlement

LEFT = timedelta(hours=50)
CREATE = HandlerName("create_order")


async def delayed(inbox: SqliteInbox, **tries: Any) -> list[Schedule]:
    """The schedule of an event that waits for 12 minutes, until which it has spent 22 hours of its three days."""
    held = await event_in(inbox, State.CLAIMED)
    made = Tries(3, 22 * 3600, due=DAWN + timedelta(minutes=12), total=72 * 3600, **tries)
    await inbox.settle([settlement(held, Signal.RETRY, due_in=12 * 60, tries={CREATE: made})])
    return list(schedules(await look(inbox, held.event_id)))


async def test_a_delayed_event_says_when_it_is_tried_and_when_it_is_given_up(inbox: SqliteInbox) -> None:
    (one,) = await delayed(inbox, attempts=12)
    due = DAWN + timedelta(minutes=12)
    assert one == Schedule(CREATE, 3, 9, due, due + LEFT)
    assert schedule_text(one, now=DAWN) == "next try in 12 min, 9 left, gives up by Wednesday 11:42 UTC"


async def test_without_a_cap_only_time_is_told(inbox: SqliteInbox) -> None:
    (one,) = await delayed(inbox)
    assert schedule_text(one, now=DAWN) == "next try in 12 min, gives up by Wednesday 11:42 UTC"


async def test_time_that_is_not_counted_moves_the_end(inbox: SqliteInbox, clock: ManualClock) -> None:
    (before,) = await delayed(inbox)
    clock.advance(12 * 60)
    again = await claim_one(inbox, 7)
    await inbox.settle([settlement(again, Signal.POSTPONE, due_in=3600, tries=again.tries, reason="infrastructure")])
    (after,) = schedules(await look(inbox, again.event_id))
    assert before.gives_up_at is not None
    assert after.next_try_at == DAWN + timedelta(minutes=72)
    assert after.gives_up_at == before.gives_up_at + timedelta(hours=1)


async def test_a_count_of_an_earlier_landfast_has_no_end_to_tell(inbox: SqliteInbox) -> None:
    held = await event_in(inbox, State.CLAIMED, delivery())
    await inbox.settle([settlement(held, Signal.RETRY, due_in=30, tries={CREATE: Tries(2, 4.0)})])
    (one,) = schedules(await look(inbox, held.event_id))
    assert schedule_text(one, now=DAWN) == "next try in 30 s"


async def test_what_waits_for_something_else_than_time_says_only_how_often_it_was_tried(inbox: SqliteInbox) -> None:
    held = await event_in(inbox, State.CLAIMED, delivery())
    await inbox.settle([settlement(held, Signal.PAUSE, tries={CREATE: Tries(2, 4.0, attempts=5, total=9.0)})])
    (one,) = schedules(await look(inbox, held.event_id))
    assert schedule_text(one, now=DAWN) == "tried 2 times, 3 left"


@pytest.mark.parametrize(("wait", "text"), [(0.5, "next try now"), (-60, "next try now"), (90, "next try in 1.5 min")])
def test_what_is_due_is_tried_now(wait: float, text: str) -> None:
    one = Schedule("create_order", 1, None, DAWN + timedelta(seconds=wait), DAWN + timedelta(days=30))
    assert schedule_text(one, now=DAWN) == f"{text}, gives up by 2026-04-01 09:30 UTC"
