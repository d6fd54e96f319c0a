"""The type stands beside the source in work and shelf, and goes with the event wherever it moves."""

from __future__ import annotations

import pytest

from landfast.domain.lifecycle import Signal, State
from landfast.testing.conformance.inbox.grid import SENT, send
from landfast.testing.factory import delivery, event_in
from tests.inboxes.sqlite_bench import SqliteBench, by_hand

WAITING = "SELECT source, type, lane FROM work UNION ALL SELECT source, type, lane FROM shelf"
"""Of an event that is done there is no row."""


@pytest.mark.parametrize(("state", "signal"), SENT, ids=[f"{state} {signal}" for state, signal in SENT])
async def test_the_type_goes_with_the_event_on_sqlite(bench: SqliteBench, state: State, signal: Signal) -> None:
    held = await event_in(bench.inbox, state, delivery(type="order.created", entity="customer_7"))
    assert await send(bench, held, state, signal)
    lane = None if signal is Signal.ERASE else "customer_7"
    assert by_hand(bench.path, WAITING) in ([], [("shop", "order.created", lane)])
