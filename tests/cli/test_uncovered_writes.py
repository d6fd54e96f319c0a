"""What an operator is shown of a handler that never uses its transaction."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from landfast.app import load
from tests.cli.conftest import Run
from tests.cli.test_events_export import fill, settings

APP = """
from landfast import Inbox

inbox = Inbox()

@inbox.on("shop", "order.paid", writes=WRITES)
def create_order(event, tx):
    print("written somewhere else")
"""


def processed(folder: Path, *, writes: bool) -> None:
    settings(folder, "here", 'app = "app:inbox"\n')
    (folder / "app.py").write_text(APP.replace("WRITES", str(writes)))
    fill("evt_text")

    async def drain() -> None:
        async with load("app:inbox").worker() as worker:
            await worker.drain()

    asyncio.run(drain())


def test_events_show_and_the_doctor_say_so(landfast: Run, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    processed(folder, writes=True)
    assert "no_writes handler=create_order" in caplog.text
    shown = landfast("events", "show", "evt_text").out
    assert "finish -> done (no_writes)" in shown
    assert "create_order attempt 1: done, " in shown
    assert " ms; it never used its transaction, so what it wrote elsewhere may happen twice" in shown
    told = landfast("doctor")
    assert told.code == 0
    assert "warn  uncovered writes: done and never used their transaction lately" in told.out
    assert "create_order (1)" in told.out
    assert landfast("events", "list").out.splitlines()[1].endswith("\tno_writes")


def test_what_is_meant_is_not_told(landfast: Run, folder: Path) -> None:
    processed(folder, writes=False)
    assert "no_writes" not in landfast("events", "show", "evt_text").out
    assert "ok    uncovered writes: none was seen lately" in landfast("doctor").out
