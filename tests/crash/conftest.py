"""Scenes for crash tests, and the process that bears their children."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.nursery import Nursery, nursery
from tests.crash.plans import KINDS
from tests.crash.scene import Scene
from tests.servers import _fast_folder


@pytest.fixture(scope="session")
def born(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """One for each process of the test run."""
    with nursery(tmp_path_factory.mktemp("nursery") / "log") as opened:
        yield opened


@pytest.fixture
def scene_on(request: pytest.FixtureRequest, born: Nursery) -> Iterator[Callable[..., Scene]]:
    """Make a scene on a store. In memory, where there is some: what a killed process wrote is there, synced or not."""
    folder = Path(tempfile.mkdtemp(prefix="landfast-crash-", dir=_fast_folder()))

    def make(store: str, kinds: tuple[str, ...] = KINDS, *, is_ordered: bool = False) -> Scene:
        dsn = request.getfixturevalue("migrated_database") if store == "postgres" else ""
        return Scene(store, tempfile.mkdtemp(dir=folder), dsn, born, kinds, is_ordered)

    yield make
    shutil.rmtree(folder, ignore_errors=True)
