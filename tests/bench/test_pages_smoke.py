"""The benchmark of pages runs from end to end on both stores. Its figures are not looked at."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench.pages import PAGES
from bench.stage import ROOT

HANGS_AFTER_SECONDS = 600


@pytest.mark.parametrize("store", [[], ["--sqlite"]], ids=["PostgreSQL", "SQLite"])
def test_every_page_and_what_dashboards_cost(store: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "bench.pages", "--quick", *store],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert all(f" {page} " in ended.stdout for page in PAGES)
    assert "5 dashboards, a second:" in ended.stdout
    assert "5 dashboards cost" in ended.stdout
