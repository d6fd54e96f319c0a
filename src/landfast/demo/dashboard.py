"""The demo's dashboard: that of every inbox, with the storm on a page of its own, in the demo's own process."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import uvicorn

from landfast.admin.app import make_app
from landfast.demo.play import Score
from landfast.demo.stage import Stage
from landfast.demo.storm_page import pages
from landfast.domain.errors import ConfigError
from landfast.processes.children.admin_process import Server
from landfast.processes.supervision.plan import ADMIN_PORT
from landfast.recovery.proof import Proof
from landfast.web.http.listener import listen

HOST = "127.0.0.1"
STOP_SECONDS = 1
"""For answers in flight when the demo ends. An open page has a stream without an end."""


@asynccontextmanager
async def dashboard(stage: Stage, tell: Callable[[Score, Proof], None]) -> AsyncIterator[str]:
    """Its address. `tell` hears of storms that are played again from the page."""
    app = make_app(stage.theatre.inbox, is_loopback=True, pages=partial(pages, stage=stage, tell=tell))
    config = uvicorn.Config(
        app,
        lifespan="on",
        ws="none",
        log_config=None,
        log_level="critical",  # a browser that goes away in the midst of an answer is no news
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    with _listener() as listening:
        is_up = asyncio.Event()
        server = Server(config, is_up.set)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        await asyncio.wait([serving, up := asyncio.create_task(is_up.wait())], return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        try:
            yield f"http://{HOST}:{listening.getsockname()[1]}"
        finally:
            await stage.close()
            server.stop()
            await serving


def _listener() -> socket.socket:
    """On the usual port, or on a free one: a dashboard of the user's own may be on the usual one."""
    with suppress(ConfigError):
        return listen(HOST, ADMIN_PORT)
    return listen(HOST, 0)


async def show_in_browser(address: str) -> bool:
    """Whether one was found. A browser of the terminal would take it away from us, so it needs a screen."""
    if not (sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))):
        return False
    with suppress(webbrowser.Error, OSError):
        return await asyncio.to_thread(webbrowser.open, address)
    return False
