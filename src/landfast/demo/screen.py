"""What the demo shows: live bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from landfast.demo.play import Score
from landfast.recovery.proof import Proof


class Screen:
    """Two bars and a line for each kill. `show` is called often, and prints only what is new."""

    def __init__(self, console: Console, deliveries: int) -> None:
        self._console = console
        self._told = 0
        self._live = console.is_terminal
        self._progress = Progress(
            TextColumn("  {task.description:<14}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("deliveries"),
            TextColumn("{task.fields[orders]}"),
            console=console,
            disable=not self._live,
        )
        self._naive = self._bar("naive handler", deliveries)
        self._ours = self._bar("landfast", deliveries)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, score: Score) -> None:
        self._progress.update(self._naive, completed=score.naive.total, orders=orders(score.naive_orders))
        self._progress.update(self._ours, completed=score.ours.total, orders=orders(score.our_orders))
        for pid, answered, _ in score.killed[self._told :]:
            self._told += 1
            self._console.print(
                f"  kill -9 {pid}: Landfast's worker, its order written and not committed"
                f" (delivery {answered:,} of {score.deliveries:,})",
                soft_wrap=True,
            )

    def _bar(self, name: str, deliveries: int) -> TaskID:
        return self._progress.add_task(name, total=deliveries, orders=orders(0))


def orders(count: int) -> str:
    return f"{count:,} order" if count == 1 else f"{count:,} orders"


def summary(score: Score, proof: Proof) -> str:
    return (
        f"  naive handler: {orders(score.naive_orders)}     landfast: {orders(score.our_orders)}\n"
        f"  {proof.equations[0]}      lost {proof.lost}   doubled {proof.doubled}\n"
    )
