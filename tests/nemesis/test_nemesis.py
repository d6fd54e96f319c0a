"""Everything goes wrong at once, for a minute: nothing is lost, doubled or stuck, and the proof holds."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

import pytest

from tests.nemesis.run import SMALL, run
from tests.servers import _fast_folder


@pytest.mark.long
@pytest.mark.req("R24", "R53", "R55", "R61")
async def test_nothing_is_lost_doubled_or_stuck_when_everything_goes_wrong_at_once() -> None:
    seed = int(os.environ.get("NEMESIS_SEED", random.randrange(2**32)))
    print(f"to see it again: .venv/bin/python -m tests.nemesis --seed {seed}")
    with tempfile.TemporaryDirectory(prefix="landfast-nemesis-", dir=_fast_folder()) as folder:
        verdict = await run(seed, SMALL, Path(folder))
    print(verdict)
    assert not verdict.void, str(verdict)
    assert not verdict.problems, str(verdict)
