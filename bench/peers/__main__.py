"""`make bench PEERS=1`: Landfast beside what people would pick instead, on the same machine, with the same events.

Each has one server process and one worker (whatever it starts for itself), PostgreSQL with fsync, and a handler that
writes one order. Without `--only`, all of them; one that cannot be installed is a row that says why.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from bench import load, machine, stores
from bench.__main__ import _stage
from bench.peers import LANDFAST, PEERS, Peer, drawing
from bench.peers.environments import NotInstalledError
from bench.peers.kills import Survived, survive
from bench.peers.running import Running, running
from bench.stage import QUICK, ROOT, Sizes, Stage
from bench.stores import Store

DONE_WITHIN = 180.0
LOOK_EVERY = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """One row: a peer, or why there is none."""

    name: str
    why_not: str = ""
    acks_per_second: float = 0.0
    p99_ms: float = 0.0
    done_per_second: float = 0.0
    cpu_microseconds: float = 0.0
    """Of everything involved but the sender, for an event that was taken in and done."""
    survived: Survived | None = None
    better: str = ""


def main() -> None:
    asked = _arguments()
    console = Console(width=None if Console().is_terminal else 200)
    sizes = replace(QUICK, seconds=1.0) if asked.quick else Sizes()
    wanted = [peer for peer in PEERS if not asked.only or peer.name in asked.only]
    with _stage(sizes, load.found(), console) as stage:
        described = machine.describe(stage.folder.parent)
        rounds = 0 if asked.part == "kills" else sizes.rounds
        is_killed = asked.part == "kills" or not (asked.part or asked.quick)
        rows = [asyncio.run(_row(stage, peer, rounds, is_killed=is_killed)) for peer in wanted]
    _show(console, rows)
    asked.out.mkdir(parents=True, exist_ok=True)
    found = msgspec.json.encode({"machine": described, "peers": rows})
    (asked.out / "peers.json").write_bytes(msgspec.json.format(found, indent=2) + b"\n")
    (asked.out / "peers.svg").write_text(drawing.picture(described, rows))
    console.print(f"written to {asked.out}", highlight=False)


async def _row(stage: Stage, peer: Peer, rounds: int, *, is_killed: bool) -> Beside:
    stage.say(peer.name)
    try:
        measured = [] if rounds else [Beside(name="")]
        for _ in range(rounds):
            async with stores.on_postgres(stage.postgres) as store, running(peer, store) as (program, servers):
                measured.append(await _at_full_speed(stage, program, servers, store))
        middle = sorted(measured, key=lambda row: row.done_per_second)[len(measured) // 2]
        survived = None
        if is_killed:
            stage.say(f"{peer.name}: killed five times")
            async with stores.on_postgres(stage.postgres) as store, running(peer, store) as (program, _):
                survived = await survive(program, store)
    except (NotInstalledError, RuntimeError, OSError) as error:
        return Beside(name=peer.name, why_not=str(error) or type(error).__name__, better=peer.better)
    return replace(middle, name=peer.name, survived=survived, better=peer.better)


async def _at_full_speed(stage: Stage, program: Running, servers: list[int], store: Store) -> Beside:
    """Warmed up first: connections are open, statements prepared, workers awake."""
    requests, warm = stage.requests(stage.sizes.requests // 3, "peer"), stage.sizes.warm
    ready = await load.apply(load.load(replace(requests, count=warm), program.port, 30.0), "own")
    await _done(store, ready.ok, time.monotonic())

    def spent() -> float:
        return machine.cpu_seconds([*program.pids(), *servers, *store.pids()])

    used, began = spent(), time.monotonic()
    answered = await load.apply(load.load(requests, program.port, stage.sizes.seconds, skip=warm), "own")
    seconds = await _done(store, ready.ok + answered.ok, began)
    return Beside(
        name="",
        acks_per_second=answered.per_second,
        p99_ms=answered.p99,
        done_per_second=answered.ok / seconds,
        cpu_microseconds=(spent() - used) / max(1, answered.ok) * 1e6,
    )


async def _done(store: Store, acknowledged: int, began: float) -> float:
    """Seconds from then until all acknowledged events have an order."""
    async with stores.connected(store.ledger) as connection, asyncio.timeout(DONE_WITHIN):
        while await connection.fetchval("SELECT count(*) FROM orders") < acknowledged:  # noqa: ASYNC110 - another process is at work
            await asyncio.sleep(LOOK_EVERY)
    return time.monotonic() - began


def _show(console: Console, rows: Sequence[Beside]) -> None:
    table = Table("", "acks/s", "ack p99, ms", "done/s", "CPU an event, microseconds", "killed five times")
    for row in rows:
        if row.why_not:
            table.add_row(row.name, "-", "-", "-", "-", row.why_not)
            continue
        found = row.survived
        fate = f"{found.acknowledged:,} taken, {found.lost} lost, {found.doubled} doubled" if found else "not tried"
        figures = (row.acks_per_second, row.p99_ms, row.done_per_second, row.cpu_microseconds)
        table.add_row(row.name, *(f"{figure:,.0f}" for figure in figures), fate)
    console.print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a look: seconds, one round, nobody is killed")
    parser.add_argument("--only", action="append", choices=[peer.name for peer in PEERS], help=f"such as {LANDFAST}")
    parser.add_argument("--part", choices=("speed", "kills"), help="one of the two halves")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results", help="where JSON and SVG go")
    return parser.parse_args()


if __name__ == "__main__":
    main()
