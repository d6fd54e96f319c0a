"""The admin process: answers operators on the socket that the supervisor listens on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import ssl
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

import uvicorn
import uvloop

from landfast.admin.app import make_app
from landfast.app import Inbox
from landfast.processes.children.admin_door import Doorway
from landfast.processes.children.admin_protocol import AdminProtocol
from landfast.processes.children.exit_codes import exit_code
from landfast.processes.children.lifeline import Lifeline
from landfast.processes.tls import context

NICENESS = 5
"""Lower in priority than those who take webhooks in: where processors are short, whoever looks waits."""

CONNECTIONS_AT_MOST = 512
"""At a time; 503 beyond it. Fifty dashboards have three or four each."""

KEPT_SECONDS = 10
"""For a connection without a request. A live page looks every five, and to open one with TLS costs more than a look."""

STOP_SECONDS = 2
"""For answers in flight. A stream has no end of its own, and is cut then; a browser comes again by itself."""


def run(
    inbox: Inbox,
    *,
    listener: int,
    lifeline: Lifeline,
    is_loopback: bool,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
) -> int:
    """Until SIGTERM; the exit code."""
    lifeline.hold()
    os.nice(NICENESS)
    config = uvicorn.Config(
        make_app(inbox, is_loopback=is_loopback, reload=partial(_hang_up, os.getppid())),
        http=AdminProtocol,
        lifespan="on",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who asks is who connects: a header says what its sender likes
        limit_concurrency=CONNECTIONS_AT_MOST,
        timeout_graceful_shutdown=STOP_SECONDS,
        timeout_keep_alive=KEPT_SECONDS,
    )
    tls = context(tls_cert, tls_key)
    with socket.socket(fileno=listener) as listening:
        code = exit_code(lambda: uvloop.run(_serve(config, listening, lifeline, tls)))
    lifeline.let_go()
    return code


def _hang_up(supervisor: int) -> None:
    """As `kill -HUP` does. Whoever has taken us over from a supervisor that died is not asked."""
    if os.getppid() == supervisor:
        os.kill(supervisor, signal.SIGHUP)


async def _serve(
    config: uvicorn.Config, listener: socket.socket, lifeline: Lifeline, tls: ssl.SSLContext | None
) -> None:
    server = Server(config, lifeline.say_ready, tls)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop)
    await server.serve(sockets=[listener])


class Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, up: Callable[[], None], tls: ssl.SSLContext | None = None) -> None:
        super().__init__(config)
        self._up = up
        self._tls = tls

    def stop(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self._tls is None:
            await super().startup(sockets)
        else:
            await super().startup([])
            self.servers += [Doorway(each, self._tls, self._connection) for each in sockets or []]  # type: ignore[misc]
        self._up()

    def _connection(self) -> AdminProtocol:
        return AdminProtocol(self.config, self.server_state, self.lifespan.state)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """None: it would end this process by the signal that it was asked to stop with, and not by an exit code."""
        yield
