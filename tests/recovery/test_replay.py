from __future__ import annotations

import pytest

from landfast.domain.errors import UserError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import Signal, State
from landfast.inboxes.sqlite import SqliteInbox
from landfast.recovery.replay import count, replay_one, wanted
from landfast.testing.factory import DAWN
from tests.recovery.scenes import settle_all, store


def test_a_filter_means_dead_letters_unless_it_names_a_state() -> None:
    assert wanted("source:stripe", now=DAWN) == Filter(source="stripe", state=State.DEAD)
    assert wanted("state:unhandled", now=DAWN) == Filter(state=State.UNHANDLED)


def test_an_event_on_its_way_cannot_be_asked_for() -> None:
    choice = "choose state: one of dead, done, parked, unhandled"
    with pytest.raises(UserError, match=f"claimed cannot be replayed; {choice}"):
        wanted("state:claimed", now=DAWN)
    with pytest.raises(UserError, match=r"delayed cannot be replayed; .*; landfast retry has delayed ones tried now"):
        wanted("state:delayed", now=DAWN)


async def test_one_event_is_replayed_and_the_history_says_who(inbox: SqliteInbox) -> None:
    (event,) = await store(inbox, 1)
    assert not await replay_one(inbox, event.event_id, forced=False, who="selma")  # it is ready: on its way already
    await settle_all(inbox, Signal.BURY)
    assert await count(inbox, Filter(state=State.DEAD)) == 1
    assert await replay_one(inbox, event.event_id, forced=True, who="selma")
    record = await inbox.show(event.event_id)
    assert record is not None
    assert (record.history[-1].signal, record.history[-1].who) == (Signal.REPLAY, "selma")
    assert record.summary.key == event.key
