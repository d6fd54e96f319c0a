"""A sender that will not stop: many deliveries over a few connections that stay open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field

CONNECTIONS = 64
ANSWER_WITHIN = 120.0
"""Seconds: longer than any provider waits for an answer, and longer than a busy machine stands still."""


@dataclass(slots=True)
class Answers:
    """How the deliveries were answered."""

    statuses: dict[int, int] = field(default_factory=dict)
    unanswered: int = 0
    """Sent, and the connection broke: whether they arrived is unknown."""

    @property
    def total(self) -> int:
        return self.unanswered + sum(self.statuses.values())

    def count(self, status: int | None) -> None:
        if status is None:
            self.unanswered += 1
        else:
            self.statuses[status] = self.statuses.get(status, 0) + 1


async def send_all(
    port: int,
    requests: Iterable[bytes],
    *,
    answers: Answers,
    heard: Callable[[bytes, int | None], None] = lambda _request, _status: None,
    hold: Callable[[], Awaitable[None]] | None = None,
    connections: int = CONNECTIONS,
) -> Answers:
    """Send each request once, `connections` at a time, to the loopback. `hold` is awaited before each: it may wait."""
    queue = iter(requests)
    async with asyncio.TaskGroup() as senders:
        for _ in range(connections):
            senders.create_task(_send(port, queue, answers, heard, hold))
    return answers


async def _send(
    port: int,
    queue: Iterator[bytes],
    answers: Answers,
    heard: Callable[[bytes, int | None], None],
    hold: Callable[[], Awaitable[None]] | None,
) -> None:
    connection = Connection(port)
    try:
        for request in queue:
            if hold is not None:
                await hold()
            status = await connection.send(request)
            answers.count(status)
            heard(request, status)
    finally:
        connection.close()


class Connection:
    """One keep-alive connection to the loopback, opened again when it broke."""

    def __init__(self, port: int, *, patience: float = ANSWER_WITHIN) -> None:
        self._port = port
        self._patience = patience
        self.body = b""
        """Of the last answer."""
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(self, request: bytes) -> int | None:
        """The status of the answer; None when the connection broke and nobody knows."""
        try:
            async with asyncio.timeout(self._patience):
                return await self._exchange(request)
        except (OSError, EOFError, TimeoutError, ValueError):
            self.close()
            return None

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _exchange(self, request: bytes) -> int:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        self.body = await self._reader.readexactly(int(length or b"0"))
        if b"connection: close" in head:
            self.close()
        return int(head[9:12])


def post(path: str, headers: dict[str, str], body: bytes) -> bytes:
    """A POST as it goes over the wire."""
    lines = [f"POST {path} HTTP/1.1", "host: 127.0.0.1", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
