"""`make bench`: run everything, print a table, write bench/results/latest.json and latest.svg."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from bench import goals, load, machine, report
from bench.rows import (
    Row,
    acks,
    attacks,
    claim,
    crowd,
    fairness,
    herd,
    lanes,
    latency,
    layers,
    metrics,
    processing,
    stacks,
    verification,
    void_on_a_busy_machine,
)
from bench.stage import QUICK, ROOT, Sizes, Stage
from bench.stores import DiskPostgres

WHOLE_PARTS = {
    "processing": processing,
    "fairness": fairness,
    "claim": claim,
    "lanes": lanes,
    "herd": herd,
    "stacks": stacks,
}
"""Those that need nothing of the others."""
PARTS = ("verification", "acks", "metrics", "latency", "crowd", "attacks", "layers", *WHOLE_PARTS)


def main() -> None:
    asked = _arguments()
    console = Console(width=None if Console().is_terminal else 280)
    sizes = QUICK if asked.quick else Sizes()
    with _stage(sizes, asked.generator or load.found(), console) as stage:
        described = machine.describe(stage.folder.parent) | {"generator": _generator(stage)}
        before = machine.disturbance()
        rows = asyncio.run(_rows(stage, asked.only or PARTS))
        void_on_a_busy_machine(rows, max(before, machine.disturbance()))
    verdicts = goals.verdicts({row.name: row for row in rows}, goals.all_goals(sizes.finished))
    report.show(console, described, rows, verdicts)
    report.write(asked.out, described, rows, verdicts)
    console.print(f"written to {asked.out}", highlight=False)


async def _rows(stage: Stage, parts: list[str] | tuple[str, ...]) -> list[Row]:
    made: list[Row] = []
    if "verification" in parts:
        made += await verification.rows(stage)
    if "acks" in parts:
        made += await acks.rows(stage)
    if "metrics" in parts:
        made += await metrics.rows(stage)
    if "latency" in parts:
        made += await latency.rows(stage, _maxima(made))
    if "crowd" in parts:
        made += await crowd.rows(stage)
    if "attacks" in parts:
        made += await attacks.rows(stage)
    if "layers" in parts:
        made += await layers.rows(stage, _maxima(made)["PostgreSQL"])
    for name, part in WHOLE_PARTS.items():
        if name in parts:
            made += await part.rows(stage)
    return made


def _maxima(rows: list[Row]) -> dict[str, float]:
    found = {row.name: row.value or 0.0 for row in rows}
    return {
        kind: found.get(name) or ASSUMED for kind, name in {"PostgreSQL": acks.POSTGRES, "SQLite": acks.SQLITE}.items()
    }


ASSUMED = 10_000.0
"""Acks per second at most, where `--only` left out the row that measures it."""


@contextmanager
def _stage(sizes: Sizes, generator: load.Generator, console: Console) -> Iterator[Stage]:
    parent = machine.on_disk(ROOT)
    folder = Path(tempfile.mkdtemp(prefix="landfast-bench-", dir=parent))
    postgres = DiskPostgres(parent)
    say: Callable[[str], None] = lambda text: console.print(f"  {text}", style="dim", highlight=False)  # noqa: E731
    try:
        postgres.create()
        yield Stage(sizes, folder, generator, postgres, say)
    finally:
        postgres.destroy()
        shutil.rmtree(folder, ignore_errors=True)


def _generator(stage: Stage) -> str:
    name = "wrk" if stage.generator == "wrk" else "our own client (wrk is not installed)"
    return f"{name}, one thread, {load.CONNECTIONS} connections, requests signed beforehand"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: seconds, and figures that mean nothing")
    parser.add_argument("--only", action="append", choices=PARTS, help="these rows; may be given several times")
    parser.add_argument("--generator", choices=("wrk", "own"), help="wrk where it is installed, unless you choose")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results", help="where JSON and SVG go")
    return parser.parse_args()


if __name__ == "__main__":
    main()
