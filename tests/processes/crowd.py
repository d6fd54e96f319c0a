"""Senders that never pause, and know what became of each request."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.shops import Shop

SURELY_IN_TIME = 0.1
"""Seconds after a signal to stop: a connection that is idle, or new and silent, is listened to for longer than this."""


@dataclass(slots=True)
class Crowd:
    """Each goes away when it is refused."""

    shop: Shop
    port: int
    ended: float = float("inf")
    """When the server was told to stop."""
    is_over: bool = False
    answered: set[str] = field(default_factory=set)
    """With 200."""
    statuses: Counter[bytes] = field(default_factory=Counter)
    refused: int = 0
    in_flight_at_the_end: int = 0
    unanswered: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def sending(self, senders: int) -> AsyncIterator[None]:
        """Every other one keeps its connection."""
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            for number in range(senders):
                tasks.create_task(self.send(f"evt_{number}", keeps_alive=number % 2 == 0))
            try:
                yield
            finally:
                self.is_over = True

    async def send(self, name: str, *, keeps_alive: bool) -> None:
        writer: asyncio.StreamWriter | None = None
        number = 0
        while not self.is_over or self.ended < float("inf"):
            if writer is None:
                try:
                    reader, writer = await connected(self.port)
                except OSError:
                    self.refused += 1
                    return
            key, sent = f"{name}_{number}", time.monotonic()
            number += 1
            writer.write(self.shop.sender.delivery(self.shop.sender.payment(key)))
            answer = await answer_on(reader)
            if answer:
                self.statuses[answer[9:12]] += 1
                self.in_flight_at_the_end += sent <= self.ended <= time.monotonic()
            elif sent < self.ended + SURELY_IN_TIME:
                self.unanswered.append(f"{key}, sent {sent - self.ended:.3f} s after the signal")
            if answer[9:12] == b"200":
                self.answered.add(key)
            if not keeps_alive or not answer or b"connection: close" in answer:
                writer.close()
                writer = None
        if writer is not None:
            writer.close()


async def connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    async with asyncio.timeout(10):
        return await asyncio.open_connection("127.0.0.1", port)


async def answer_on(reader: asyncio.StreamReader) -> bytes:
    """Head and body, in small letters; nothing if the connection broke."""
    try:
        async with asyncio.timeout(30):
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            return head + await reader.readexactly(int(length or b"0"))
    except (OSError, EOFError):
        return b""
