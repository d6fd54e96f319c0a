"""Tables in a terminal: every column that is shown can be read, however narrow it is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from landfast.app.stores import Stores
from landfast.cli.output import COLUMN_CHARACTERS_AT_LEAST, duration
from landfast.domain.lifecycle import Signal
from landfast.testing.factory import delivery
from tests.cli.conftest import Run
from tests.cli.crowd import fill
from tests.recovery.scenes import settle_all

SOURCES = """
[sources.shop]
provider = "stripe"
public_url = "https://hooks.example.com/somewhere/rather/long/in/shop"
secrets = [{ value = "env:OLD", name = "old", until = 2020-01-01T00:00:00Z }, "env:NEW"]
"""
TYPES = ("customer.subscription.trial_will_end", "invoice.paid")


@pytest.fixture
def crowd(folder: Path) -> None:
    async def two_dead(stores: Stores) -> None:
        await stores.inbox.record(
            [delivery(f"evt_1NqQPbL7xK9vmA0000{number}", type=type_) for number, type_ in enumerate(TYPES)]
        )
        await settle_all(stores.inbox, Signal.BURY)

    (folder / "landfast.toml").write_text(SOURCES)
    fill(two_dead)


def shown(folder: Path, *arguments: str, columns: int) -> list[str]:
    environment = {"FORCE_COLOR": "1", "PATH": "", "TERM": "xterm", "COLUMNS": f"{columns}"}
    command = [sys.executable, "-m", "landfast", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=folder)
    return re.sub(r"\x1b\[[0-9;]*m", "", ended.stdout).splitlines()


@pytest.mark.parametrize("command", ["events", "dead", "sources"])
@pytest.mark.parametrize("columns", [60, 80, 120, 240])
def test_a_row_is_a_line_and_no_column_is_too_narrow_to_read(
    folder: Path, crowd: None, command: str, columns: int
) -> None:
    headings, *rows = shown(folder, command, "list", columns=columns)
    assert len(rows) == (1 if command == "sources" else 2)
    assert all(len(line) <= columns for line in (headings, *rows)), rows
    starts = [match.start() for match in re.finditer(r"(?<!\S)\S+( \S+)*", headings)]
    for row in rows:
        cells = [row[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]
        assert all(not cell.endswith("…") or len(cell) >= COLUMN_CHARACTERS_AT_LEAST for cell in cells), cells


def test_eighty_columns_show_what_an_operator_needs_first(folder: Path, crowd: None) -> None:
    headings, row, _ = shown(folder, "events", "list", columns=80)
    assert headings.split() == ["id", "source", "type", "state", "received", "why"]
    assert re.match(r"[0-9a-f]{12}…  shop +\S+ +dead +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", row)
    wide = shown(folder, "events", "list", columns=240)
    assert "evt_1NqQPbL7xK9vmA0000" in wide[1] and "again" in wide[0]


def test_a_dead_letter_is_listed_with_its_handler_and_what_the_error_says(
    landfast: Run, folder: Path, crowd: None
) -> None:
    headings, row, _ = shown(folder, "dead", "list", columns=80)
    assert headings.split() == ["id", "source", "type", "handler", "why", "message"]
    names, first, *_ = [line.split("\t") for line in landfast("dead", "list").out.splitlines()]
    told = dict(zip(names, first, strict=True))
    assert all(told[name] for name in ("handler", "why", "message")), told
    assert told["message"][:8] in row


def test_wide_letters_keep_the_columns_straight(folder: Path) -> None:
    async def one(stores: Stores) -> None:
        await stores.inbox.record([delivery("a", type="注文.作成"), delivery("b", type="order.made")])

    (folder / "landfast.toml").write_text(SOURCES)
    fill(one)
    _, *rows = shown(folder, "events", "list", columns=120)
    (wide,) = [row for row in rows if "注文" in row]
    (narrow,) = [row for row in rows if "order" in row]
    assert wide.index(" ready") == narrow.index(" ready") - 4  # four letters of two cells each


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.5, "0.5 s"), (59, "59 s"), (90, "1.5 min"), (7200, "2 h"), (3 * 86400, "3 d"), (86400 * 12345, "12,345 d")],
)
def test_a_duration_is_told_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text
