"""`python -m bench.metered`: what counting costs a request, in instructions of the intake.

The row of `make bench` compares the processor time of whole servers, whose runs differ by more than metrics can cost,
on any machine that we have. Instructions do not depend on who else is there: valgrind's callgrind counts them, of one
process that counts and of one that does not, each for a few and for many requests. The difference is what a request
takes, without the start. The database's own are not among them, nor the kernel's.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys

import uvloop
from rich.console import Console

from bench import deliveries, machine, stores
from bench.ordinary import SENDERS, Senders
from bench.stage import ROOT
from bench.stores import DiskPostgres
from landfast import Inbox
from landfast.intake import lookups
from landfast.telemetry import metrics

KINDS = ("a duplicate", "a new event")
NEVER = 10**9
FEW_BATCHES = 20
"""Before that many, memory is still being filled."""

_COLLECTED = re.compile(rb"Collected : (\d+)")


async def _measure(batches: int) -> None:
    console = Console()
    for kind in KINDS:
        with_them, without = [
            (await _instructions(kind, how, batches) - await _instructions(kind, how, FEW_BATCHES))
            / ((batches - FEW_BATCHES) * SENDERS)
            for how in ("with", "without")
        ]
        told = f"{with_them:9,.0f} instructions with metrics, {without:9,.0f} without: {with_them / without:.3f} times"
        console.print(f"{kind:12} {told}", highlight=False)


async def _instructions(kind: str, how: str, batches: int) -> int:
    """Of a process that takes in so many batches, from its first to its last."""
    counter = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    counted = await asyncio.create_subprocess_exec(
        *(*counter, sys.executable, "-m", "bench.metered", "--intake", kind, how, "--batches", str(batches)),
        env=os.environ | {"PYTHONHASHSEED": "0"},
        stderr=subprocess.PIPE,
    )
    _, told = await counted.communicate()
    if not (found := _COLLECTED.search(told)):
        raise RuntimeError(f"valgrind counted nothing: {told.decode(errors='replace')[-2000:]}")
    return int(found[1])


async def _take_in(kind: str, how: str, batches: int) -> None:
    if how == "without":
        lookups.TIMED_LOOKS = NEVER
        metrics.counted = None  # type: ignore[assignment]
    inbox = Inbox()
    inbox.source("stripe", provider="stripe", secrets=["env:BENCH_SECRET"])
    different = batches if kind == "a new event" else 1
    requests = list(deliveries.requests(different * SENDERS, name=f"{how}{batches}"))
    async with inbox.intake() as intake:
        senders = Senders(intake)
        for _ in range(batches // different):
            await senders.send(requests)


async def _main(options: argparse.Namespace) -> None:
    if options.intake:
        kind, how = options.intake
        await _take_in(kind, how, options.batches)
        return
    if not shutil.which("valgrind"):
        sys.exit("valgrind counts the instructions, and is not installed here: apt install valgrind")
    postgres = DiskPostgres(machine.on_disk(ROOT))
    try:
        postgres.create()
        async with stores.on_postgres(postgres) as store:
            os.environ |= {"LANDFAST_STORE": store.inbox, "LANDFAST_LEDGER": store.ledger}
            os.environ["BENCH_SECRET"] = deliveries.SECRET
            await _take_in("a duplicate", "with", 1)  # which makes the tables
            await _measure(options.batches)
    finally:
        postgres.destroy()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.metered", description=__doc__)
    parser.add_argument("--batches", type=int, default=60, help=f"of {SENDERS} requests each; more than {FEW_BATCHES}")
    parser.add_argument("--intake", nargs=2, metavar=("KIND", "HOW"), help=argparse.SUPPRESS)
    uvloop.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
