"""The statements of both drivers: they are called alike, and none of them knows the name of a state."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import landfast.inboxes
from landfast.domain.lifecycle import MOVES, PLACES, TIMED, Guard, Place, Signal, State
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.sqlite_bench import SqliteBench, by_hand

DRIVERS = {
    driver: {
        file.stem: file.read_text() for file in (Path(landfast.inboxes.__file__).parent / driver / "sql").iterdir()
    }
    for driver in ("postgres", "sqlite")
}

MAY_NAME_A_STATE = {"requeue_candidates", "stir_candidates"}
"""Each is led by a partial index, and only a constant proves the predicate of one: on SQLite always, on PostgreSQL in a
plan that is kept."""

OWN: dict[str, dict[str, tuple[str, ...]]] = {
    "postgres": {
        "one statement records a whole batch, where SQLite has one for each table": ("record", "count_drained"),
        "what is counted for a list is not sorted, and of what is done only what has left work and shelf": (
            "count_any",
            "count_done",
            "count_shelf",
        ),
        "several writers at a time: who must be locked, waited for or passed over": (
            "done_mark_lock",
            "erase_lanes",
            "erase_shelf_lock",
            "erase_work_lock",
            "history_writers",
            "lock",
            "operator_log_lock",
        ),
        "leases and suspects are in no index, so that a claim is a HOT update": ("find_suspects",),
        "counters are rows that are added and never updated, and somebody has to fold them": (
            "fold_slots",
            "unhandled_fold",
        ),
        "what is erased lies in the files of several tables, until VACUUM and another row have passed": (
            "erase_overwrite",
            "erase_places",
            "erase_watched",
        ),
        "SQLite numbers its schema by a pragma": (
            "migrate_add",
            "migrate_applied",
            "migrate_schema",
            "migrate_table",
        ),
        "weeks are left by closing, walking and dropping them, and what stays is moved out of them": (
            "retain_close",
            "retain_count",
            "retain_judge",
            "retain_keep",
            "retain_known",
            "retain_lines_batch",
            "retain_lines_keep",
            "retain_parts",
            "retain_unmoved",
            "retain_unproven",
            "retain_walk_begin",
            "retain_walk_end",
            "retain_walk_forget",
            "retain_walks",
            "retain_writers",
        ),
        "settings of a server, and what only it has: partitions, unlogged tables, triggers that are switched off": (
            "prepare",
            "problems_durability",
            "problems_triggers",
            "problems_unlogged",
        ),
        "SQLite looks at its files, and its ballast is one": (
            "ballast_drop",
            "ballast_fill",
            "ballast_make",
            "ballast_size",
            "room",
        ),
        "history is in parts, all of which a statement locks that looks into it, so a move does not": (
            "passed_before",
        ),
        "others write at the same time: lanes are locked, and moved by functions of the database": (
            "lane_advance",
            "lane_lock",
            "lane_pull",
            "lane_stranded",
            "order_lock",
        ),
    },
    "sqlite": {
        "a batch is recorded table by table, where PostgreSQL has one statement": (
            "drained_before",
            "record_body",
            "record_counted",
            "record_data_key",
            "record_identities",
            "record_identity",
            "record_next",
            "record_work",
        ),
        "a statement changes one table, so a move has two halves and a line": (
            "history_add",
            "leave_shelf",
            "leave_work",
        ),
        "UPDATE ... RETURNING joins nothing, so what was claimed is read by another": (
            "bodiless",
            "claimed",
            "flow_ready",
        ),
        "listings are read in windows, so that no read transaction lasts": (
            "find_identity",
            "find_summaries",
            "finished_of",
        ),
        "a statement changes one table, so a report is told in three": ("rate_latest", "rate_report"),
        "what is old goes a few hundred rows at a time, and each table has a statement": (
            "retain_data_key",
            "retain_lanes",
            "retain_newest_line",
            "retain_oldest",
            "retain_place",
            "retain_proofs_upto",
            "retain_still",
            "retain_uncarried",
        ),
        "lanes are moved event by event": (
            "lane_front",
            "lane_promote",
            "lane_queue",
            "ordered_sources",
        ),
        "boots are folded and forgotten row by row": (
            "fold_counted",
            "fold_tally",
            "forget_boot",
            "forget_meters",
            "total_add",
            "total_largest",
        ),
        "the columns are compared with those that the migrations make": ("problems_columns",),
    },
}


@pytest.mark.parametrize("driver", DRIVERS)
def test_no_statement_names_a_state_or_a_signal(driver: str) -> None:
    words = re.compile(rf"'({'|'.join([*State, *Signal])})'")
    code = {name: re.sub(r"--[^\n]*", "", sql) for name, sql in DRIVERS[driver].items()}
    assert {name for name, sql in code.items() if words.search(sql)} == MAY_NAME_A_STATE


@pytest.mark.parametrize(("driver", "other"), [("postgres", "sqlite"), ("sqlite", "postgres")])
def test_a_statement_has_the_same_name_in_both_drivers_or_a_reason(driver: str, other: str) -> None:
    assert DRIVERS[driver].keys() - DRIVERS[other].keys() == {name for names in OWN[driver].values() for name in names}


@pytest.mark.parametrize("driver", DRIVERS)
def test_there_is_one_statement_for_each_kind_of_move(driver: str) -> None:
    kinds = {move.way.kind for moves in MOVES.values() for move in moves}
    assert {name for name in DRIVERS[driver] if re.fullmatch(rf"({'|'.join(Place)})_to_\w+", name)} == kinds
    assert len(kinds) == 7


def test_a_guard_says_all_that_a_statement_asks_of_the_token() -> None:
    """Of what is at work, the state is the token: so the two must agree."""
    for move in (move for moves in MOVES.values() for move in moves if move.way.start is Place.WORK):
        if move.signal is Signal.CLAIM:
            continue  # it has statements of its own
        expected = {Guard.TOKEN: [State.CLAIMED], Guard.RUN: [State.READY, State.CLAIMED], Guard.STATE: [State.READY]}
        assert list(move.way.states) == expected[move.way.guard]


async def test_the_shelf_of_sqlite_holds_the_states_that_live_there(bench: SqliteBench) -> None:
    ((table,),) = by_hand(bench.path, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'shelf'")
    _must_be_the_table(table)


async def test_the_shelf_of_postgres_holds_the_states_that_live_there(database: str) -> None:
    asked = (
        "SELECT string_agg(pg_get_constraintdef(oid), ' ') FROM pg_constraint"
        " WHERE conrelid = 'landfast.shelf'::regclass AND contype = 'c'"
    )
    async with PostgresBench(database).migrated() as bench:
        (checks,) = await bench.fetch(asked)
    _must_be_the_table(checks)


def _must_be_the_table(checks: str) -> None:
    # One list of all that may be there, and one comparison for those that have a time.
    found = re.findall(r"'(\w+)'", checks)
    shelved = [str(state) for state in State if PLACES[state] is Place.SHELF]
    assert sorted(found) == sorted([*shelved, *TIMED])
