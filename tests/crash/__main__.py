"""Crash on command: one place again, one seed again, or anything for a while.

python -m tests.crash --store sqlite --step commit --when after --nth 3      one crash
python -m tests.crash --store sqlite --seed 7 --cycles 50                    the crashes of one seed
python -m tests.crash --seconds 600                                          new seeds on both stores until the time is up
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.crash.nursery import nursery
from tests.crash.plans import KINDS, Place, drawn_kinds
from tests.crash.scene import Scene
from tests.servers import Postgres, _fast_folder

CYCLES = {"sqlite": 60, "postgres": 15}
"""For each seed, so that either store has half of the time."""


def main() -> None:
    wanted = _arguments()
    with tempfile.TemporaryDirectory(prefix="landfast-crash-", dir=_fast_folder()) as folder:
        if wanted.seconds:
            _go_on(wanted.seconds, folder)
            return
        if wanted.seed is not None:
            _seed(wanted.store, wanted.seed, wanted.cycles or CYCLES[wanted.store], folder)
            return
        place = Place(wanted.step, wanted.when, wanted.nth, wanted.how)
        with _scene(wanted.store, tuple(wanted.kinds.split(",")), folder) as scene:
            if place.how == "pause":
                scene.zombie(place)
            else:
                scene.crash([place])
    print(f"{wanted.store}: {place}: nothing lost, doubled or stuck")


def _go_on(seconds: float, folder: str) -> None:
    until, total = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        for store, cycles in CYCLES.items():
            total += _seed(store, random.randrange(2**32), cycles, tempfile.mkdtemp(dir=folder))
    print(f"{total} crashes in {seconds:g} s: 0 lost, 0 doubled, 0 stuck")


def _seed(store: str, seed: int, cycles: int, folder: str) -> int:
    print(f"  .venv/bin/python -m tests.crash --store {store} --seed {seed} --cycles {cycles}", flush=True)
    chance = random.Random(seed)
    with _scene(store, drawn_kinds(chance), folder) as scene:
        scene.wander(chance, cycles)
        return len(scene.cycles)


@contextmanager
def _scene(store: str, kinds: tuple[str, ...], folder: str) -> Iterator[Scene]:
    with nursery(Path(folder) / "log") as born:
        if store == "sqlite":
            yield Scene(store, folder, "", born, kinds)
            return
        server = Postgres()
        try:
            server.create()
            yield Scene(store, folder, server.dsn(server.new_database()), born, kinds)
        finally:
            server.destroy()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash")
    parser.add_argument("--store", choices=tuple(CYCLES), default="sqlite")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--step", default="commit")
    parser.add_argument("--when", choices=("before", "after"), default="after")
    parser.add_argument("--nth", type=int, default=1)
    parser.add_argument("--how", choices=("kill", "raise", "pause"), default="kill")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--cycles", type=int)
    parser.add_argument("--seconds", type=float)
    return parser.parse_args()


if __name__ == "__main__":
    main()
