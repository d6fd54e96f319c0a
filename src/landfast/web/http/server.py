"""Listening, TLS, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import resource
import select
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace

from landfast.domain.errors import ConfigError
from landfast.intake.receive import Intake
from landfast.web.http.front import Front, Limits
from landfast.web.http.protocol import Connection

BACKLOG = 2048
"""Connections that the kernel holds for us while we are busy: a storm opens thousands at once."""

SWEEP_SECONDS = 0.5
"""How late a deadline may be noticed. A look at 10,000 connections takes half a millisecond."""

SPARE_DESCRIPTORS = 192
"""Of the file descriptors that the process may open, these are left: 64 for databases, logs and listeners, and 128 for
the segments of a spool that fills up. Where there are few, half."""


LAST_WORDS = 0.25
"""Seconds. A sender whose connection is idle may have sent its next request before it could know that we stop: more
than a round trip between continents, and nobody minds waiting that long for our end."""

ACCEPTING_ROUNDS = 100
"""Turns of the loop in which we accept who waits to be. Where nobody keeps new ones away, they never end by themselves;
each turn takes as many as there are."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, for one intake process or for several to share. Without SO_REUSEPORT: a second server on the
    same port is a mistake, and would silently take half of the webhooks."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        raise ConfigError(f"The host {host!r} is not known here: set `host` to an address of this machine.") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(_why_not(error, host, port)) from None
    listener.setblocking(False)
    return listener


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
        self.front = Front(
            intake,
            limits=_within_descriptors(limits or Limits()),
            time=time or loop.time,
            is_secure=tls is not None,
        )
        self._tls = tls
        self._loop = loop
        self._server: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None

    async def start(self, listener: socket.socket | int) -> None:
        """Serve on a listening socket, or on the descriptor of one that another process opened for us."""
        if isinstance(listener, int):
            listener = socket.socket(fileno=listener)
        self._server = await self._loop.create_server(
            lambda: Connection(self.front),
            sock=listener,
            ssl=self._tls,
            ssl_handshake_timeout=self.front.limits.handshake_seconds if self._tls else None,
            backlog=BACKLOG,
        )
        self._sweep_again()

    async def stop(self, *, grace: float = 10.0) -> None:
        """Stop accepting, answer what is in flight, close what is idle; after `grace` seconds cut what is left."""
        if self._server is not None:
            await self._accept_the_last(self._server)
            self._server.close()
        gone = asyncio.Event()
        self.front.on_empty = gone.set
        self.front.is_draining = True
        if not await self._is_empty(gone, min(grace, LAST_WORDS)):
            self.front.drain()
        if not await self._is_empty(gone, grace):
            self.front.cut()
            await gone.wait()
        if self._sweep is not None:
            self._sweep.cancel()

    async def _accept_the_last(self, server: asyncio.Server) -> None:
        """Closing a listening socket resets those who have connected, and perhaps sent, and wait to be accepted."""
        waiting = select.poll()
        for listener in server.sockets:
            waiting.register(listener.fileno(), select.POLLIN)
        quiet = 0
        for _ in range(ACCEPTING_ROUNDS):
            quiet = 0 if waiting.poll(0) else quiet + 1
            if quiet > 3:  # from the kernel to the loop, from there to a transport, and to a connection of ours
                return
            await asyncio.sleep(0)

    async def _is_empty(self, gone: asyncio.Event, within: float) -> bool:
        if self.front.connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(gone.wait(), within)
            await asyncio.sleep(0)  # what has arrived by now is read before anybody is taken for idle
        return not self.front.connections

    def _sweep_again(self) -> None:
        has_more = self.front.sweep()
        self._sweep = self._loop.call_later(0.0 if has_more else SWEEP_SECONDS, self._sweep_again)


def _within_descriptors(limits: Limits) -> Limits:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits
    return replace(limits, connections=max(1, min(limits.connections, soft - min(SPARE_DESCRIPTORS, soft // 2))))


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use: stop the other server, or set another `port` (--port)."
    if error.errno == errno.EACCES:
        return f"Port {port} on {host} needs privileges that we do not have: set a `port` above 1023."
    return f"Cannot listen on {host} port {port} ({error.strerror}): set `host` to an address of this machine."
