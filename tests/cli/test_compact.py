"""`landfast compact` and `landfast retention unbind`, on the files of a folder."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytestmark = pytest.mark.req("R43")


def test_compact_says_what_there_is_and_what_it_gave_back(landfast: Run, folder: Path) -> None:
    assert landfast("compact").code == 2, "there is no database yet"
    assert landfast("migrate").code == 0
    with closing(sqlite3.connect(folder / "landfast.db", isolation_level=None)) as stranger:
        stranger.execute(
            "CREATE TABLE much AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)"
            " SELECT randomblob(4000) FROM n"
        )
        stranger.execute("DROP TABLE much")
    found = landfast("compact", "--dry-run", "--json")
    assert found.json["free_inside"] > 3_000_000
    given = landfast("compact", "--json")
    assert given.json["given_back"] > 3_000_000
    assert "0.0 MB given back" in landfast("compact").out
    assert landfast("doctor").code in {0, 1}


def test_an_inbox_that_is_gone_is_let_go_of_by_its_id(landfast: Run, folder: Path) -> None:
    assert landfast("migrate").code == 0
    with closing(sqlite3.connect(folder / "landfast-ledger.db", isolation_level=None)) as ledger:
        ((ours,),) = ledger.execute("SELECT hex(inbox) FROM landfast_ledger_inbox").fetchall()
        ledger.execute("INSERT INTO landfast_ledger_inbox (inbox, bound_at) VALUES (x'" + "ab" * 16 + "', 0)")
    ran = landfast("retention", "run")
    assert ran.code == 0
    assert f"landfast retention unbind {'ab' * 16}" in ran.out
    assert landfast("retention", "unbind", "ab" * 16).code == 2, "nobody was asked"
    assert landfast("retention", "unbind", "nonsense", "--yes").code == 2
    assert landfast("retention", "unbind", ours, "--yes").code == 2, "it is alive"
    assert landfast("retention", "unbind", "ab" * 16, "--yes").code == 0
    assert landfast("retention", "unbind", "ab" * 16, "--yes").code == 1, "it is gone"
