"""The inbox that tests in this folder get, unless their class says otherwise."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.inboxes.sqlite_bench import SqliteBench


@pytest.fixture
async def bench(tmp_path: Path, migrated_folder: Path) -> AsyncIterator[SqliteBench]:
    bench = SqliteBench(Path(shutil.copy(migrated_folder / "inbox.db", tmp_path)))
    await bench.inbox.open()
    await bench.inbox.migrate()
    yield bench
    await bench.close()
