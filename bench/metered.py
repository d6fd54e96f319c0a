"""`python -m bench.metered`: what counting costs a request, in processor time, in one process and in turns.

The row of `make bench` compares whole servers, whose runs differ by more than metrics can cost, on any machine that we
have. Here two intakes share a process, a store and a minute: one counts, and one does not. The least of the rounds
counts.
"""

from __future__ import annotations

import argparse
import gc
import os
from contextlib import AsyncExitStack

import uvloop
from rich.console import Console

from bench import deliveries, machine, stores
from bench.ordinary import Senders
from bench.stage import ROOT
from bench.stores import DiskPostgres
from landfast import Inbox
from landfast.intake import lookups
from landfast.telemetry import metrics

TIMED_LOOKS = lookups.TIMED_LOOKS
NEVER = 10**9


async def _measure(rounds: int, count: int) -> None:
    spent: dict[tuple[str, bool], list[float]] = {}
    async with AsyncExitStack() as stack:
        senders: dict[bool, Senders] = {}
        for is_counted in (True, False):
            inbox = Inbox()
            inbox.source("stripe", provider="stripe", secrets=["env:BENCH_SECRET"])
            counted = metrics.counted
            metrics.counted = counted if is_counted else None  # type: ignore[assignment]
            senders[is_counted] = Senders(await stack.enter_async_context(inbox.intake()))
            metrics.counted = counted
        gc.collect()
        gc.freeze()
        for number in range(rounds):
            for is_counted in (True, False) if number % 2 else (False, True):
                lookups.TIMED_LOOKS = TIMED_LOOKS if is_counted else NEVER
                requests = list(deliveries.requests(count, name=f"{is_counted}{number:03}"))
                for what in ("a new event", "a duplicate"):
                    took = await senders[is_counted].send(requests)
                    spent.setdefault((what, is_counted), []).append(took)
    for what in ("a new event", "a duplicate"):
        with_them, without = min(spent[what, True]), min(spent[what, False])
        told = f"{with_them:6.1f} microseconds with metrics, {without:6.1f} without: {with_them / without:.3f} times"
        Console().print(f"{what:12} {told}", highlight=False)


async def _main(options: argparse.Namespace) -> None:
    postgres = DiskPostgres(machine.on_disk(ROOT))
    try:
        postgres.create()
        async with stores.on_postgres(postgres) as store:
            os.environ |= {"LANDFAST_STORE": store.inbox, "LANDFAST_LEDGER": store.ledger}
            os.environ["BENCH_SECRET"] = deliveries.SECRET
            await _measure(options.rounds, options.count)
    finally:
        postgres.destroy()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.metered", description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--count", type=int, default=6_400, help="requests of each kind in a round")
    uvloop.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
