from __future__ import annotations

import pytest

from landfast.domain.errors import UserError
from landfast.inboxes.sqlite import SqliteInbox
from landfast.recovery.find import find_event
from landfast.testing.factory import delivery


async def test_an_event_is_found_by_its_id_its_key_and_its_source_and_key(inbox: SqliteInbox) -> None:
    event = delivery("evt_1")
    await inbox.record([event])
    for name in (event.event_id.hex(), "evt_1", "shop/evt_1"):
        record = await find_event(inbox, name)
        assert record is not None, name
        assert record.summary.event_id == event.event_id


async def test_a_key_may_look_like_an_id_or_hold_a_slash(inbox: SqliteInbox) -> None:
    await inbox.record([delivery("ab" * 16), delivery("orders/1")])
    for name in ("ab" * 16, "orders/1", "shop/orders/1"):
        record = await find_event(inbox, name)
        assert record is not None, name


async def test_a_key_that_two_sources_have_needs_its_source(inbox: SqliteInbox) -> None:
    await inbox.record([delivery("evt_1", source="shop"), delivery("evt_1", source="crm")])
    with pytest.raises(UserError, match=r"several sources have this key; write (shop|crm)/evt_1 or (shop|crm)/evt_1"):
        await find_event(inbox, "evt_1")
    record = await find_event(inbox, "crm/evt_1")
    assert record is not None
    assert record.summary.source == "crm"


async def test_no_event_is_none(inbox: SqliteInbox) -> None:
    for name in ("evt_1", "shop/evt_1", "0" * 32, "/", ""):
        assert await find_event(inbox, name) is None
