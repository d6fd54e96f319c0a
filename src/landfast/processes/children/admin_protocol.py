"""A connection of the admin process: uvicorn's, with an end for whoever takes a place and says nothing.

uvicorn waits for the first head for ever, for a body too, and for whoever reads no answer. As many connections as it
holds are 512: without an end, so many that say or read nothing keep every operator out.
"""

from __future__ import annotations

import asyncio
import math
from functools import partial
from ipaddress import IPv4Address, IPv6Network, ip_address
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
"""From the connection, or from the last answer, until the head of a request is whole: a slow phone needs one or two."""

BODY_SECONDS = 30.0
"""From its head until a body is whole: 64 KiB at most are read of one."""

READING_SECONDS = 30.0
"""In which somebody has to read something of the answers that wait for it. One of megabytes may take minutes."""

HEAD_BYTES = 64 * 1024
"""Of a head; a browser's has some thousands with all of its cookies."""

CONNECTIONS_OF_ONE_ADDRESS = 256
"""Or of one network of IPv6. Half of all: nobody keeps those out who come from elsewhere. A proxy has one address, and
its dashboards fit in."""


class AdminProtocol(HttpToolsProtocol):
    owner = ""
    """Of its address."""
    _ending: asyncio.TimerHandle | None = None
    _looking: asyncio.TimerHandle | None = None
    _head_bytes: int | None = 0
    """So far, of the head that is awaited; None while none is."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.owner = owner_of(self.client[0] if self.client else "")
        if sum(_owner(each) == self.owner for each in self.connections) > CONNECTIONS_OF_ONE_ADDRESS:
            transport.abort()
            return
        self._end_in(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_in(None)
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > HEAD_BYTES:
            self.transport.abort()

    def on_headers_complete(self) -> None:
        self._head_bytes = None
        self._end_in(BODY_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        self._end_in(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # A body that nobody wanted to read may still come, byte by byte: that, too, is over then.
        self._end_in(HEAD_SECONDS)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_at_reader(math.inf, is_over=False)

    def _end_in(self, seconds: float | None) -> None:
        if self._ending is not None:
            self._ending.cancel()
        self._ending = None if seconds is None else self.loop.call_later(seconds, self._end)

    def _end(self) -> None:
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if not is_answering or self._head_bytes is None:
            self._look_at_reader(math.inf, is_over=True)

    def _look_at_reader(self, before: float, *, is_over: bool) -> None:
        """While bytes wait for it. Where it is over, it ends with the last of them."""
        if self._looking is not None:
            self._looking.cancel()
        left = self.transport.get_write_buffer_size()
        if left >= before or (is_over and not left):
            self.transport.abort()
        elif left:
            look = partial(self._look_at_reader, left, is_over=is_over)
            self._looking = self.loop.call_later(READING_SECONDS, look)


def owner_of(host: str) -> str:
    """Whoever has one address of IPv6 has a network of 64 bits of them, and is one all the same."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv4Address) or address.ipv4_mapped is not None:
        return host
    return str(IPv6Network((int(address) >> 64 << 64, 64)))


def _owner(connection: Any) -> str:
    return str(connection.owner)
