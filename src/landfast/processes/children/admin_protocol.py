"""A connection of the admin process: uvicorn's, with an end for whoever takes a place and says nothing.

uvicorn waits for the first head for ever, and for a body too. As many connections as it holds are 512: without an end,
so many that say nothing keep every operator out.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
"""From the connection, or from the last answer, until the head of a request is whole: a slow phone needs one or two."""

BODY_SECONDS = 30.0
"""From its head until a body is whole: 64 KiB at most are read of one."""

HEAD_BYTES = 64 * 1024
"""Of a head; a browser's has some thousands with all of its cookies."""

CONNECTIONS_OF_ONE_ADDRESS = 256
"""Half of all: nobody keeps those out who come from elsewhere. A proxy has one address, and its dashboards fit in."""


class AdminProtocol(HttpToolsProtocol):
    _ending: asyncio.TimerHandle | None = None
    _head_bytes: int | None = 0
    """So far, of the head that is awaited; None while none is."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        if sum(_host_of(each) == host for each in self.connections) > CONNECTIONS_OF_ONE_ADDRESS:
            transport.abort()
            return
        self._end_in(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_in(None)
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

    def _end_in(self, seconds: float | None) -> None:
        if self._ending is not None:
            self._ending.cancel()
        self._ending = None if seconds is None else self.loop.call_later(seconds, self._end)

    def _end(self) -> None:
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if not is_answering or self._head_bytes is None:
            self.transport.abort()


def _host_of(connection: Any) -> str:
    return connection.client[0] if connection.client else ""
