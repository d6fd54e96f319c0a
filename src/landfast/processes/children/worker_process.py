"""One worker process: runs the user's handlers where nothing they do can delay an acknowledgement."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable
from typing import Literal

import uvloop

from landfast.app import Inbox
from landfast.domain.ids import WorkerId
from landfast.processes.children.exit_codes import exit_code
from landfast.processes.children.lifeline import Lifeline
from landfast.processes.children.note import noting
from landfast.processes.children.watchdog import MARGIN_SECONDS, Watchdog
from landfast.processes.children.worker_alone import SuspectsBeside
from landfast.processes.listeners import Listeners

OBJECTS_BETWEEN_COLLECTIONS = 10_000
"""Objects made between two collections. A group of events holds as many, and none of them is garbage before the group
ends: with Python's 700, looking for it takes a tenth of a worker's time."""

SuspectsRun = Literal["between", "apart", "only"]
"""Where suspects run: here, between the others; in a process of their own; or this is that process."""


def run(
    inbox: Inbox,
    *,
    worker_id: WorkerId | None = None,
    lifeline: Lifeline | None = None,
    suspects: SuspectsRun = "between",
    beside: SuspectsBeside | None = None,
    asked_on: Listeners = Listeners(),  # noqa: B008 - frozen
    up: Callable[[], None] = lambda: None,
) -> int:
    """Until SIGTERM or Ctrl-C; what is in hand then is finished. The exit code. `up` is called when it is ready.
    `beside` keeps the process for suspects that are run apart, where no supervisor does. It says how it is
    where it is asked, from the moment that it has both databases."""
    if lifeline is not None:
        lifeline.hold()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    if lifeline is None:
        uvloop.run(_work(inbox, worker_id, lifeline, suspects, beside, asked_on, up))
        return 0
    code = exit_code(lambda: uvloop.run(_work(inbox, worker_id, lifeline, suspects, beside, asked_on, up)))
    lifeline.let_go()
    return code


async def _work(
    inbox: Inbox,
    worker_id: WorkerId | None,
    lifeline: Lifeline | None,
    suspects: SuspectsRun,
    beside: SuspectsBeside | None,
    asked_on: Listeners,
    up: Callable[[], None],
) -> None:
    watchdog = Watchdog(patience=_longest_deadline(inbox) + MARGIN_SECONDS)
    tell = lifeline.say_suspects if lifeline is not None and suspects == "apart" else None
    if beside is not None:
        tell = beside.want
    sums = None if beside is None else beside.pages.sums
    async with (
        inbox.worker(worker_id, tell_suspects=tell) as worker,
        asked_on.answering(inbox, worker.readiness, sums),
        noting(worker.readiness),
    ):

        def stop() -> None:
            worker.stop()
            if beside is not None:
                beside.stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        beating = asyncio.create_task(watchdog.beat())
        watchdog.watch()
        gc.collect()
        gc.freeze()  # the user's modules, ours and the drivers stay as long as this process
        if lifeline is not None:
            lifeline.say_ready()
        up()
        try:
            await (worker.run_suspects() if suspects == "only" else worker.run())
        finally:
            watchdog.stop()
            beating.cancel()
            if beside is not None:
                beside.stop()
                await beside.wait()


def _longest_deadline(inbox: Inbox) -> float:
    deadlines = [handler.deadline for handler in inbox.registry.handlers]
    deadlines += [effect.deadline for effect in inbox.registry.effects.values()]
    return max(deadlines, default=0.0)
