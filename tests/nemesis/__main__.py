"""The nemesis on command: one seed again, or new ones for a while.

python -m tests.nemesis --seed 7                  one round of every fault, as `make test` has it
python -m tests.nemesis --seconds 600             a large run, with rounds for ten minutes
python -m tests.nemesis --events 50000            a large run, with rounds until so many events were acknowledged
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.nemesis.run import LARGE, SMALL, run
from tests.servers import _fast_folder


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.nemesis")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--events", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for logs and histories; a temporary one unless it is given")
    wanted = parser.parse_args()
    is_large = wanted.seconds or wanted.events
    size = replace(LARGE, seconds=wanted.seconds, events=wanted.events) if is_large else SMALL
    asked = f" --seconds {wanted.seconds:g} --events {wanted.events}" if is_large else ""
    print(f"  .venv/bin/python -m tests.nemesis --seed {wanted.seed}{asked}", flush=True)
    if wanted.keep:
        wanted.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="landfast-nemesis-", dir=_fast_folder()) as temporary:
        verdict = asyncio.run(run(wanted.seed, size, wanted.keep or Path(temporary)))
    print(verdict)
    return 0 if verdict.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
