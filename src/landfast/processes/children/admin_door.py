"""The admin port with TLS: a handshake has its place and its end, as it has proved nothing yet.

The loop can do handshakes by itself, but then nobody knows of those that never end: they are in no limit, and each has
a descriptor for a minute. Seventeen silent connections a second kept every operator out. So whoever connects stands at
the door until the handshake is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable

from landfast.processes.children.admin_protocol import owner_of

HANDSHAKE_SECONDS = 5.0
"""For a handshake: two round trips, which a phone behind a bad line has in two seconds."""

HANDSHAKES_AT_MOST = 128
"""At a time, with the 512 connections well below the 1,024 descriptors of a process. Beyond it the oldest ends: one of
a person is over in milliseconds, so those who say nothing are the oldest."""

HANDSHAKES_OF_ONE_ADDRESS = 32
"""Or of one network of IPv6: of these, too, the oldest ends. Nobody ends the handshakes of others with their own."""

ACCEPTED_AT_ONCE = 16
"""Connections accepted before others have their turn."""


class Doorway:
    """In place of the loop's own server: `close` and `wait_closed` are what uvicorn asks of one."""

    def __init__(self, listener: socket.socket, tls: ssl.SSLContext, made: Callable[[], asyncio.Protocol]) -> None:
        self._listener = listener
        self._tls = tls
        self._made = made
        self._loop = asyncio.get_running_loop()
        self.standing: dict[socket.socket, str] = {}
        """In a handshake, the oldest first, each with the owner of its address."""
        self._tasks: set[asyncio.Task[None]] = set()
        listener.setblocking(False)
        self._loop.add_reader(listener, self._accept)

    def close(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
        for accepted in [*self.standing]:
            self._end(accepted)

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no descriptor is left
                self._end_oldest([*self.standing])
                return
            accepted.setblocking(False)
            self._enter(accepted, owner_of(address[0]))

    def _enter(self, accepted: socket.socket, owner: str) -> None:
        alike = [each for each, other in self.standing.items() if other == owner]
        if len(alike) >= HANDSHAKES_OF_ONE_ADDRESS:
            self._end_oldest(alike)
        elif len(self.standing) >= HANDSHAKES_AT_MOST:
            self._end_oldest([*self.standing])
        self.standing[accepted] = owner
        task = self._loop.create_task(self._let_in(accepted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _let_in(self, accepted: socket.socket) -> None:
        try:
            # Whoever fails is gone, and that is no news: anybody can knock with anything.
            with contextlib.suppress(OSError):
                await self._loop.connect_accepted_socket(
                    self._made, accepted, ssl=self._tls, ssl_handshake_timeout=HANDSHAKE_SECONDS
                )
        finally:
            self.standing.pop(accepted, None)

    def _end_oldest(self, standing: list[socket.socket]) -> None:
        for accepted in standing[:1]:
            self._end(accepted)

    def _end(self, accepted: socket.socket) -> None:
        """The loop sees the end of the stream, and closes it."""
        self.standing.pop(accepted, None)
        with contextlib.suppress(OSError):  # the client was faster
            accepted.shutdown(socket.SHUT_RDWR)
