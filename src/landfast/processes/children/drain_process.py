"""One drainer process: brings what the journal holds into the inbox."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

import uvloop

from landfast.app import Inbox
from landfast.app.extras import check_extras
from landfast.domain.readiness import Readiness
from landfast.processes.children.exit_codes import exit_code
from landfast.processes.children.lifeline import Lifeline
from landfast.processes.children.note import noting
from landfast.processes.listeners import Listeners


def run(
    inbox: Inbox,
    *,
    lifeline: Lifeline | None = None,
    asked_on: Listeners = Listeners(),  # noqa: B008 - frozen
    up: Callable[[], None] = lambda: None,
) -> int:
    """Until SIGTERM or Ctrl-C; the batch in hand then is finished. The exit code. `up` is called when it is ready."""
    if lifeline is None:
        uvloop.run(_drain(inbox, lifeline, asked_on, up))
        return 0
    lifeline.hold()
    code = exit_code(lambda: uvloop.run(_drain(inbox, lifeline, asked_on, up)))
    lifeline.let_go()
    return code


async def _drain(inbox: Inbox, lifeline: Lifeline | None, asked_on: Listeners, up: Callable[[], None]) -> None:
    check_extras(inbox.settings)
    from landfast.app.broker import open_drainer  # late: the broker's library is an extra

    async with (
        open_drainer(inbox.settings, inbox.clock, inbox.chance) as draining,
        # What it waits for, it waits for as it should: ready from its start to its end.
        asked_on.answering(inbox, Readiness),
        noting(Readiness),
    ):
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, draining.stop)
        if lifeline is not None:
            lifeline.say_ready()
        up()
        await draining.run()
