"""What is kept of requests that were refused, and the warning when a source has nothing else."""

from __future__ import annotations

import pytest

from landfast.domain.census import SourceTally
from landfast.domain.delivery import Head, Headers
from landfast.domain.rates import REST
from landfast.domain.refusal_causes import FIXES, cause_of, fix_of
from landfast.intake.diagnosis.only_refusals import OnlyRefusals
from landfast.intake.diagnosis.refusals import (
    HEADER_NAMES_AT_MOST,
    PATH_CHARACTERS,
    ROWS_OF_ONE_SOURCE,
    UNSENT_AT_MOST,
    Refusals,
)
from landfast.testing.clock import ManualClock

VALUE = b"never-this"


def head(address: str = "192.0.2.7", path: str = "/in/shop", names: int = 2) -> Head:
    pairs = [(b"x-header-%d\n" % number, VALUE) for number in range(names)]
    return Head("POST", path, "token=never-this", Headers(pairs), peer=address)


def test_there_is_one_row_a_minute_for_each_source_cause_and_address() -> None:
    clock = ManualClock()
    refusals = Refusals(clock)
    for _ in range(1000):
        refusals.note("shop", "unverified", 401, head())
    (row,) = refusals.take()
    assert (row.count, row.path, row.address, row.status) == (1000, "/in/shop", "192.0.2.7", 401)
    assert row.headers == ("x-header-0", "x-header-1")
    assert refusals.take() == []
    refusals.note("shop", "unverified", 401, head())
    assert [(row.count, row.at) for row in refusals.take()] == [(1001, clock.now())], "of its minute so far"
    clock.advance(60)
    refusals.note("shop", "unverified", 401, head())
    assert [row.count for row in refusals.take()] == [1]


def test_a_flood_from_everywhere_takes_few_rows_and_no_other_sources() -> None:
    refusals = Refusals(ManualClock())
    for number in range(5000):
        refusals.note(
            "shop", "unverified", 401, head(f"10.0.{number // 250}.{number % 250}", path="/x" * 500, names=200)
        )
    refusals.note("bank", "timestamp", 401, head())
    rows = refusals.take()
    assert len(rows) == ROWS_OF_ONE_SOURCE + 2
    assert sum(row.count for row in rows) == 5001
    assert [row.address for row in rows if row.count > 1] == [REST]
    assert max(len(row.path) for row in rows) == PATH_CHARACTERS
    assert max(len(row.headers) for row in rows) == HEADER_NAMES_AT_MOST
    assert VALUE.decode() not in repr(rows)


def test_what_could_not_be_told_is_told_later_and_memory_stays_bounded() -> None:
    clock = ManualClock()
    refusals = Refusals(clock)
    for minute in range(UNSENT_AT_MOST + 50):
        refusals.note("shop", "unverified", 401, head())
        kept = refusals.take()
        refusals.keep(kept)
        clock.advance(60)
        assert len(kept) == min(minute + 1, UNSENT_AT_MOST)


def test_every_cause_has_a_fix_and_every_refusal_a_cause() -> None:
    assert all(FIXES.values())
    assert cause_of(ValueError()) == "internal_error"
    assert fix_of("a cause of tomorrow") == fix_of("unverified")


def test_a_source_with_nothing_but_refusals_is_warned_of_once_in_five_minutes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    refusals = Refusals(clock)
    watch = OnlyRefusals(refusals, clock)
    told = SourceTally()
    for second in range(700):
        if second % 10 == 0:
            refusals.note("shop", "no-secret-matches" if second % 100 == 0 else "unverified", 401, head())
            told = SourceTally(received=told.received + 1, rejected=told.rejected + 1)
        watch.look({"shop": told, "": told})
        clock.advance(1)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert lines[0].startswith("only_refusals source=shop count=31 seconds=300 cause=no-secret-matches fix=")
    assert "copy the signing secret" in lines[0]


def test_a_single_good_request_ends_the_suspicion(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    refusals = Refusals(clock)
    watch = OnlyRefusals(refusals, clock)
    for second in range(900):
        watch.look({"shop": SourceTally(rejected=second, duplicate=second // 200)})
        clock.advance(1)
    for second in range(9):  # few, however long it takes
        watch.look({"bank": SourceTally(rejected=second)})
        clock.advance(100)
    assert not caplog.records
