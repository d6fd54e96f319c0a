"""A backlog costs only those who work on it: what looks for leases, suspects or one type does not pass through it."""

from __future__ import annotations

import re

import apsw
import pytest

from landfast.inboxes.sqlite.statements import SQL
from tests.inboxes.sqlite_bench import SqliteBench

INDEXES = {
    "renew": {"work_leased"},
    "abandon": {"work_leased"},
    "claim_suspect": {"work_leased", "work_suspect"},
    "has_suspects": {"work_leased", "work_suspect"},
    "requeue_candidates": {"shelf_unhandled"},
    "resume_candidates": {"shelf_by_arrival"},
    "stir_candidates": {"shelf_parked"},
    "wake": {"shelf_by_due"},
}


@pytest.mark.parametrize("statement", INDEXES)
async def test_a_statement_finds_its_rows_by_an_index(bench: SqliteBench, statement: str) -> None:
    connection = apsw.Connection(str(bench.path))
    names = dict.fromkeys(re.findall(r":(\w+)", SQL[statement]))
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {SQL[statement]}", names)]
    connection.close()
    assert {index for step in plan for index in re.findall(r"USING (?:COVERING )?INDEX (\w+)", step)} == INDEXES[
        statement
    ]
    assert "USE TEMP B-TREE FOR ORDER BY" not in plan
    assert not [step for step in plan if re.match(r"(SCAN|SEARCH) (work|shelf|w|s)$", step)], plan
