"""SIGKILL at every step of spooling and draining: nothing is lost, nothing doubled."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from landfast.domain.delivery import Delivery
from landfast.inboxes.sqlite import SqliteInbox
from landfast.intake.durability.drain import Drainer
from landfast.intake.durability.strict import StrictJournal
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.factory import deliveries
from tests.journals.lives import BATCHES, EACH, prefix_of
from tests.journals.spools import OTHER, aside, opened, segments
from tests.patience import PATIENCE_SECONDS

PLACES = [
    ("sync_folder", "before", 2),  # the first one is of the folder itself
    ("write", "before", 5),
    ("write", "after", 5),
    ("sync", "after", 5),
    ("take", "after", 2),
    ("record", "before", 2),
    ("record", "after", 2),
    ("forget", "before", 2),
    ("forget", "after", 2),
    ("unlink", "before", 2),  # the first one is of the file that tries the folder out
    ("unlink", "after", 2),
]


@pytest.mark.req("R9", "R53")
@pytest.mark.parametrize(("step", "when", "nth"), PLACES, ids=[f"{when} {step}" for step, when, _ in PLACES])
async def test_a_kill_at_any_step_loses_nothing_and_doubles_nothing(
    tmp_path: Path, step: str, when: str, nth: int
) -> None:
    command = [sys.executable, "-m", "tests.journals.lives", str(tmp_path), step, when, str(nth)]
    process = await asyncio.create_subprocess_exec(*command, cwd=Path(__file__).parents[2])
    assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == -signal.SIGKILL, f"it did not die {when} {step}"

    acknowledged = {delivery.event_id: delivery for delivery in _acknowledged(tmp_path)}
    clock = ManualClock()
    inbox = SqliteInbox(tmp_path / "inbox.db", clock=clock, chance=SeededChance(2))
    await inbox.open()
    try:
        async with opened(tmp_path / "spool", boot=OTHER, clock=clock) as spool:
            drainer = Drainer(spool, StrictJournal(inbox, clock=clock, drains=True), clock=clock)
            while spool.waiting:
                clock.advance(await drainer.step())
            await drainer.step()
            assert segments(tmp_path / "spool") == [] and aside(tmp_path / "spool") == []
        after = await inbox.census()
        for event, delivery in acknowledged.items():
            record = await inbox.show(event)
            assert record is not None, f"{delivery.key} was acknowledged and is lost"
            assert record.body == delivery.body
        # A batch that was written down and not answered for may be there too, and never more than that.
        assert len(acknowledged) <= after.events <= len(acknowledged) + EACH
        assert sum(after.states.values()) == after.events
        assert after.stored.deliveries_drained <= after.events, "a delivery was counted again"
    finally:
        await inbox.close()


def _acknowledged(folder: Path) -> list[Delivery]:
    told = folder / "acknowledged"
    batches = told.read_text().split() if told.exists() else []
    assert len(batches) <= BATCHES
    return [delivery for batch in batches for delivery in deliveries(EACH, prefix=prefix_of(int(batch)))]
