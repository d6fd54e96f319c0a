"""`make powerloss`: exit 0 when nothing was lost, 1 when something was or the run proves nothing, 2 when it cannot run."""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import signal
import sys
import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.powerloss.checker import Kind
from tests.powerloss.disks import UnfitMachineError, bench, check_machine
from tests.powerloss.rounds import Layout, Plan, Result, play
from tests.powerloss.sites import Control

IMAGES = 112
"""At least 100, and a whole number of rounds."""
CONTROLS = 4
"""Images of each store without syncs: each loses nearly everything, so a few prove the method."""
ROUND = 10
"""Images of one load at most: it lasts some seconds, and the next one begins with a fresh disk."""
SHARES = (
    (Layout.ONE_DISK, 0.4),
    (Layout.LEDGER_OLDER, 0.2),
    (Layout.INBOX_OLDER, 0.1),
    (Layout.SPOOL_BESIDE, 0.15),
    (Layout.SPOOL_OLDER, 0.15),
)
SHOWN = 5
"""Findings of a round that are printed; all of an image's are kept with it."""


def main() -> int:
    asked = _arguments()
    console = Console(highlight=False, soft_wrap=True, markup=False)
    try:
        check_machine()
        rounds = [plan for plan in plans(asked.images, asked.stores) if plan.spooled or not asked.spool]
        console.print(f"power loss, seed {asked.seed}; again: make powerloss SEED={asked.seed}")
        results = asyncio.run(_play_all(rounds, asked.seed, console))
    except UnfitMachineError as error:
        print(error, file=sys.stderr)
        return 2
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("interrupted; nothing is left mounted", file=sys.stderr)
        return 130
    return _verdict(results, console)


def plans(images: int, stores: Sequence[str]) -> list[Plan]:
    """The controls first: when they lose nothing, the rest would prove nothing."""
    found = [Plan(store, Layout.ONE_DISK, CONTROLS, control=Control.INBOX) for store in stores]
    found += [Plan(store, Layout.INBOX_OLDER, CONTROLS, control=Control.LEDGER) for store in stores]
    found += [Plan(store, Layout.SPOOL_BESIDE, CONTROLS, control=Control.SPOOL) for store in stores]
    for store in stores:
        for layout, share in SHARES:
            left = max(1, round(images * share / len(stores)))
            rounds = -(-left // ROUND)
            for number in range(rounds):
                size = -(-left // (rounds - number))
                found.append(Plan(store, layout, size, checkpoints=number % 2 == 1))
                left -= size
    return found


async def _play_all(rounds: Sequence[Plan], seed: int, console: Console) -> list[Result]:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)  # leave as by Ctrl-C, and clean up
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    results = []
    with bench() as place, Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("images", total=sum(plan.images for plan in rounds))
        for number, plan in enumerate(rounds):
            progress.update(bar, description=str(plan))
            began = time.monotonic()
            result = await play(place, plan, random.Random(f"{seed}-{number}"), lambda: progress.advance(bar))
            results.append(result)
            console.print(f"{time.monotonic() - began:4.0f} s  {_line(result)}")
            if plan.control is Control.INBOX and not result.saw_loss:
                break
    return results


def _line(result: Result) -> str:
    parts = [f"{result.plan}: {result.images} images, {result.checked:,} acknowledged"]
    if result.plan.control:
        parts += [f"{result.count(kind):,} {kind}" for kind in Kind if result.count(kind)]
        return ", ".join([*parts, "as it must be" if result.saw_loss else "which proves nothing"])
    parts.append(f"{result.unanswered:,} unanswered and sent again")
    if result.spooled:
        parts.append(f"{result.spooled:,} from the recovered spool")
    if result.reruns:
        parts.append(f"{result.reruns:,} recovered into the older ledger")
    parts += [f"{result.count(kind):,} {kind}" for kind in Kind if result.count(kind)] or ["all there, each once"]
    shown = [f"{kind}: {what}" for kind, what in result.findings[:SHOWN]]
    return "\n        ".join([", ".join(parts), *shown, *(f"kept in {folder}" for folder in result.kept)])


def _verdict(results: Sequence[Result], console: Console) -> int:
    controls = [result for result in results if result.plan.control]
    real = [result for result in results if not result.plan.control]
    counts = {kind: sum(result.count(kind) for result in real) for kind in Kind}
    console.print(
        f"{sum(r.images for r in real)} crash images, {sum(r.checked for r in real):,} acknowledged events checked:"
        f" {', '.join(f'{count:,} {kind}' for kind, count in counts.items())}"
    )
    lost, unproven = (sum(control.count(kind) for control in controls) for kind in (Kind.LOST, Kind.UNPROVEN))
    console.print(f"controls without sync: {lost:,} acknowledged events lost, {unproven:,} done events without order")
    if any(counts.values()):
        return 1
    if not all(control.saw_loss for control in controls):
        console.print("void: a control lost nothing, so this method cannot see a loss on this machine")
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.powerloss", description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="draws the instants of the cuts")
    parser.add_argument("--images", type=int, default=IMAGES, help="crash images in all, without the controls")
    parser.add_argument("--stores", nargs="+", choices=["sqlite", "postgres"], default=["sqlite", "postgres"])
    parser.add_argument("--spool", action="store_true", help="only the rounds with a spool")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
