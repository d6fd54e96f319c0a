"""Listening, TLS, and an orderly end."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from landfast.intake.receive import Intake
from landfast.web.http.connections import Connections, Limits
from landfast.web.http.handshake import TlsServer
from landfast.web.http.listener import BACKLOG_CONNECTIONS, refuse_newcomers, see_in_the_last
from landfast.web.http.protocol import Connection

SWEEP_SECONDS = 0.5
"""How late a deadline may be noticed. A look at 10,000 connections takes half a millisecond."""

SPARE_DESCRIPTORS = 192
"""Of the file descriptors that the process may open, these are left: 64 for databases, logs and listeners, and 128 for
the segments of a spool that fills up. Where there are few, half."""

IDLE_SECONDS = 1.0
"""For a connection that has had its answer. Its sender may send again before it can know that we stop; each answer now
tells it so. A busy one is back within a second, and nobody minds waiting that long for our end."""

CUT_SECONDS = 0.5
"""For the loop to see the end of what was cut."""


class HttpServer:
    def __init__(
        self,
        intake: Intake,
        *,
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
        time: Callable[[], float] | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.connections = Connections(
            intake,
            limits=_within_descriptors(limits or Limits()),
            time=time or monotonic,
            is_secure=tls is not None,
        )
        self._tls = tls
        self._loop = loop
        self._open: tuple[socket.socket, asyncio.Server | TlsServer] | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self, listener: socket.socket | int) -> None:
        """Serve on a listening socket, or on the descriptor of one that another process opened for us."""
        if isinstance(listener, int):
            listener = socket.socket(fileno=listener)
        server: asyncio.Server | TlsServer
        if self._tls is None:
            server = await self._loop.create_server(
                lambda: Connection(self.connections), sock=listener, backlog=BACKLOG_CONNECTIONS
            )
        else:
            server = TlsServer(self.connections, listener, self._tls)
        self._open = listener, server
        if listener.family in (socket.AF_INET, socket.AF_INET6):
            host, port, *_ = listener.getsockname()
            named = f"[{host}]" if ":" in host else host
            self.connections.intake.address = f"{'http' if self._tls is None else 'https'}://{named}:{port}"
        self._sweeping = self._loop.create_task(self._sweep())
        self._sweeping.add_done_callback(_raise_its_error)

    def refuse_newcomers(self) -> None:
        """In every process that shares the listener. Whoever ends all of them does this first, and then stops them."""
        if self._open is not None:
            refuse_newcomers(self._open[0])

    async def stop(self, *, grace: float = 10.0) -> None:
        """Answer everybody who has connected, and let go of who is idle; after `grace` seconds cut what is left.

        Who was never heard cannot know of our end, and has its whole request time. `wait_closed` counts it from the
        moment that it is accepted, also while its TLS handshake goes on.
        """
        if self._open is None:
            return
        (listener, server), self._open = self._open, None
        ends = self._loop.time() + grace
        self.connections.is_draining = True
        self.connections.newcomers.rest_no_more()
        self.connections.intake.let_callers_go()
        letting_go = self._loop.create_task(self._let_idle_go(min(grace, IDLE_SECONDS)))
        all_gone = self._loop.create_task(server.wait_closed())
        try:
            await asyncio.sleep(0)  # it waits for connections only if it begins before `close`
            await see_in_the_last(listener, within=grace)
            server.close()
            await asyncio.wait([all_gone], timeout=max(0.0, ends - self._loop.time()))
            if not all_gone.done():
                self.connections.end_now()
                await asyncio.wait([all_gone], timeout=CUT_SECONDS)
        finally:
            server.close()  # also if we are broken off: a loop with an open listener does not end
            for each in (letting_go, all_gone, self._sweeping):
                if each is not None:
                    each.cancel()

    async def _let_idle_go(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await asyncio.sleep(0)  # what has arrived by now is read before anybody is taken for idle
        self.connections.let_idle_go()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = self.connections.time()
            # What has arrived by now is read before its sender is taken for late. If we were stopped or frozen, the
            # timers come before what has arrived meanwhile.
            await asyncio.sleep(0)
            while self.connections.sweep(now):  # noqa: ASYNC110 - others have a turn between, and nothing is waited for
                await asyncio.sleep(0)


def _raise_its_error(task: asyncio.Task[None]) -> None:
    """For the loop to log it: nobody waits for this task."""
    if not task.cancelled():
        task.result()


def _within_descriptors(limits: Limits) -> Limits:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits
    return replace(limits, connections=max(1, min(limits.connections, soft - min(SPARE_DESCRIPTORS, soft // 2))))
