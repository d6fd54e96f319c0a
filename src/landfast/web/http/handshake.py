"""Listening with TLS. A handshake has its place among the connections from its first moment, as it has proved nothing.

The loop can do handshakes by itself, but then nobody knows of those that never end: they are in no limit, and take the
file descriptors that senders need.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl

from landfast.web.http.connections import Connections
from landfast.web.http.protocol import Connection

ACCEPTED_AT_ONCE = 16
"""Connections accepted before others have their turn, which takes a few ms."""

LOOK_SECONDS = 0.02
"""Between two looks at who is left, once nobody can come any more."""


class TlsServer:
    """What asyncio's own does, and it counts who is in the handshake."""

    def __init__(self, connections: Connections, listener: socket.socket, tls: ssl.SSLContext) -> None:
        self._connections = connections
        self._listener = listener
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        listener.setblocking(False)
        self._loop.add_reader(listener, self._accept)

    def close(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
            self._listener.close()

    async def wait_closed(self) -> None:
        """Return when nobody is left and nobody can come."""
        while self._connections.open or self._listener.fileno() >= 0:  # noqa: ASYNC110 - only while we stop
            await asyncio.sleep(LOOK_SECONDS)

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no descriptor is left: others of this process have taken more than we left them
                self._connections.make_room()
                return
            Handshake(self._connections, accepted).begin(self._tls)


class Handshake:
    def __init__(self, connections: Connections, accepted: socket.socket) -> None:
        self._connections = connections
        self._socket = accepted
        self._task: asyncio.Task[None] | None = None
        self.deadline = connections.time() + connections.limits.handshake_seconds

    def begin(self, tls: ssl.SSLContext) -> None:
        self._socket.setblocking(False)
        if self._connections.is_full and not self._connections.make_room():
            self._socket.close()  # without an answer: there is none before the end of a handshake
            return
        self._connections.open.add(self)
        self._task = asyncio.get_running_loop().create_task(self._complete(tls))

    def end(self) -> None:
        self._connections.forget(self)

    def end_late(self) -> None:
        """The loop sees the end of the stream, and closes it."""
        with contextlib.suppress(OSError):  # the client was faster
            self._socket.shutdown(socket.SHUT_RDWR)

    end_for_room = end_now = end_late

    def end_if_idle(self) -> None:
        """It was never heard, and is about to ask."""

    async def _complete(self, tls: ssl.SSLContext) -> None:
        try:
            # Whoever fails is gone, and that is no news: anybody can knock with anything.
            with contextlib.suppress(OSError):
                await asyncio.get_running_loop().connect_accepted_socket(self._connection, self._socket, ssl=tls)
        finally:
            self.end()

    def _connection(self) -> Connection:
        return _Secured(self._connections, self)


class _Secured(Connection):
    """It takes the place of its handshake."""

    def __init__(self, connections: Connections, handshake: Handshake) -> None:
        super().__init__(connections)
        self._handshake = handshake

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._handshake.end()
        super().connection_made(transport)
