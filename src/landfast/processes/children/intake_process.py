"""One intake process: takes webhooks in on the socket that the supervisor listens on."""

from __future__ import annotations

import asyncio
import gc
import signal
import ssl
import sys

import uvloop

from landfast.app import Inbox
from landfast.processes.children.exit_codes import exit_code
from landfast.processes.children.lifeline import GRACE_SECONDS, Lifeline
from landfast.processes.children.note import noting
from landfast.web.http.server import HttpServer

DRAIN = GRACE_SECONDS * 0.8
"""Seconds for the answers in flight. The rest of the grace is for the last commit and the last counters."""

SUPERVISOR_SECONDS = 0.1
"""For the supervisor to refuse newcomers on our listener. A signal to a whole group of processes may reach us first."""

SWITCH_SECONDS = 0.0005
"""For which the event loop keeps the interpreter from the thread that commits. That thread needs it several times for
each event: with Python's 5 ms, strangers who keep the loop busy made a commit of ten events wait for seconds."""

OBJECTS_BETWEEN_COLLECTIONS = 10_000
"""Objects made between two collections: a batch of new events holds some thousands, none of which is garbage yet."""


def run(inbox: Inbox, *, listener: int, lifeline: Lifeline, tls: ssl.SSLContext | None = None) -> int:
    """Until SIGTERM; the exit code."""
    lifeline.hold()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    sys.setswitchinterval(SWITCH_SECONDS)
    code = exit_code(lambda: uvloop.run(_take_in(inbox, listener, lifeline, tls)))
    lifeline.let_go()
    return code


async def _take_in(inbox: Inbox, listener: int, lifeline: Lifeline, tls: ssl.SSLContext | None) -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with inbox.intake() as intake, noting(intake.ready):
        server = HttpServer(intake, tls=tls)
        await server.start(listener)
        # Modules, drivers, the catalogue of providers: all of it stays, and a collection that walks it stalls us 30 ms.
        gc.collect()
        gc.freeze()
        lifeline.say_ready()
        await stopping.wait()
        await asyncio.sleep(SUPERVISOR_SECONDS)
        if lifeline.is_cut:
            server.refuse_newcomers()
        await server.stop(grace=DRAIN)
