"""`landfast top`, typed into by textual's own pilot."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.coordinate import Coordinate
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from landfast.cli.terminal.app import Top
from landfast.cli.terminal.event_screen import EventScreen, HelpScreen
from tests.admin.pages.storefront import Storefront
from tests.cli.conftest import Run
from tests.patience import PATIENCE_SECONDS

HOSTILE = "[bold red]charge[/]\x1b[2J\u202e"


@asynccontextmanager
async def looked_at(tmp_path: Path) -> AsyncIterator[tuple[Storefront, Top, Pilot[None]]]:
    """Three payments that failed for good, and two that did not."""
    front = Storefront(tmp_path)
    async with front.stocked():
        for number in range(5):
            assert await front.payment(number, has_email=number > 2) == 200
        await front.drain()
        front.shift(minutes=10)
        await front.drain()
        top = Top(front.shop.inbox)
        async with top.run_test(size=(150, 50)) as pilot:
            await until(pilot, lambda: rows(top) == 5)
            yield front, top, pilot


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await pilot.pause(0.02)


def rows(top: Top) -> int:
    return top.screen_stack[0].query_one("#events", DataTable).row_count


def words(top: Top, name: str) -> str:
    return str(top.screen.query_one(f"#{name}", Static).render())


async def type_filter(pilot: Pilot[None], text: str) -> None:
    await pilot.press("slash", "ctrl+u", *({":": "colon", " ": "space"}.get(each, each) for each in text), "enter")


async def test_it_shows_what_the_overview_shows_and_finds_and_opens_an_event(tmp_path: Path) -> None:
    async with looked_at(tmp_path) as (_, top, pilot):
        await until(pilot, lambda: "dead letters 3" in words(top, "figures"))
        assert "live" in words(top, "title")
        assert [str(key.value) for key in top.query_one("#sources", DataTable).rows] == ["github", "shopify", "stripe"]
        await type_filter(pilot, "state:dead")
        await until(pilot, lambda: rows(top) == 3)
        await pilot.press("j", "k", "j", "enter")
        await until(pilot, lambda: isinstance(top.screen, EventScreen))
        told = words(top, "text")
        assert "where it failed" in told and 'payment["receipt_email"]' in told and "evt_1Nq00001" in told
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(top.screen, EventScreen))
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(top.screen, HelpScreen))


async def test_a_filter_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    async with looked_at(tmp_path) as (_, top, pilot):
        await type_filter(pilot, "sate:dead")
        await until(pilot, lambda: "did you mean 'state'?" in words(top, "told"))
        await top.look()
        assert "did you mean 'state'?" in words(top, "told"), "it stays until it was read"
        assert rows(top) == 5
        await pilot.press("escape")
        await top.look()
        assert "5 events" in words(top, "told")


async def test_what_strangers_send_is_text(tmp_path: Path) -> None:
    async with looked_at(tmp_path) as (front, top, pilot):
        assert await front.payment(9, kind=HOSTILE) == 200
        await until(pilot, lambda: rows(top) == 6)
        table = top.query_one("#events", DataTable)
        assert str(table.get_cell_at(Coordinate(0, 3))) == "[bold red]charge[/]\ufffd[2J\ufffd"
        await pilot.press("k", "enter")  # the row that was chosen stays so
        await until(pilot, lambda: isinstance(top.screen, EventScreen))
        assert "\x1b" not in words(top, "text") and "[bold red]" in words(top, "text")


async def test_an_inbox_that_is_away_is_said_and_what_was_seen_stays(tmp_path: Path) -> None:
    async with looked_at(tmp_path) as (_, top, pilot):
        await top._desk.close()
        file = tmp_path / "landfast.db"
        file.rename(tmp_path / "gone.db")
        file.mkdir()
        await until(pilot, lambda: "stale since" in words(top, "title"))
        assert rows(top) == 5
        file.rmdir()
        (tmp_path / "gone.db").rename(file)
        await until(pilot, lambda: "live" in words(top, "title"))


def test_without_a_terminal_or_the_extra_it_says_so(
    landfast: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = landfast("top")
    assert (ended.code, ended.err) == (
        2,
        "landfast: top: it needs a terminal; for scripts there is landfast status --json\n",
    )
    assert "did you mean 'state'?" in landfast("top", "sate:dead").err
    monkeypatch.setitem(sys.modules, "textual", None)
    ended = landfast("top")
    assert (ended.code, ended.err) == (
        2,
        "landfast: top: it needs the package textual; install it with: pip install 'landfast[top]'\n",
    )
