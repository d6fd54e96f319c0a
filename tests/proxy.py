"""A TCP proxy that fails on command: what a network does to a conversation at its worst moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from enum import Enum, auto


class Fate(Enum):
    """What becomes of a connection once the words were seen."""

    CUT_BEFORE = auto()
    """The words do not reach the server; both sides are hung up on."""
    CUT_AFTER = auto()
    """The words reach the server; its answer does not come back, and the client is hung up on."""
    SILENCE = auto()
    """The words reach the server; nothing comes back, and nobody hangs up."""
    SWALLOW = auto()
    """Neither the words nor what follows them reach the server; nothing comes back, and nobody hangs up."""


class Proxy:
    """Passes everything on until a client says the words."""

    def __init__(self, port: int, *, alter: Callable[[bytes], bytes] = lambda said: said) -> None:
        self._target = port
        self._alter = alter
        """What the client hears instead of what the server said."""
        self._words: bytes | None = None
        self._fate = Fate.CUT_AFTER
        self._tasks: set[asyncio.Task[None]] = set()
        self.struck = asyncio.Event()
        """Set when the words were seen."""
        self.port = 0
        self._passes = asyncio.Event()
        self._passes.set()
        self.held = 0
        """How many times somebody spoke into a cable that was cut."""

    def cut(self) -> None:
        """As a cable: nothing passes in either direction, and nobody is told. What is said meanwhile comes later, as
        TCP has it, if the one who said it is still there."""
        self._passes.clear()

    def mend(self) -> None:
        self._passes.set()

    def hang_up(self) -> None:
        """On everybody who is connected now."""
        for task in self._tasks:
            task.cancel()

    def strike(self, words: bytes, fate: Fate) -> None:
        """From now on, once: the next connection on which the client says the words meets its fate."""
        self._words, self._fate = words, fate
        self.struck.clear()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Proxy]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:  # nobody is there: the client must hear of it, as it would without us
            writer.close()
            return
        backwards = asyncio.create_task(self._pass_on(far_reader, writer))
        try:
            await self._listen(reader, far_writer, backwards)
        except (ConnectionError, asyncio.CancelledError):
            pass  # one side hung up, and the other is about to hear of it; or we do, on both
        finally:
            for each in (writer, far_writer):  # before anything that waits: whoever ends us may be impatient
                each.close()
            backwards.cancel()
            with suppress(asyncio.CancelledError):  # asyncio reports a connection that ends cancelled as an error
                await asyncio.gather(backwards, return_exceptions=True)

    async def _listen(
        self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, backwards: asyncio.Task[None]
    ) -> None:
        while said := await reader.read(65536):
            await self._through()
            if self._words is None or self._words not in said:
                server.write(said)
                await server.drain()
                continue
            self._words = None
            if self._fate is Fate.SWALLOW:
                self.struck.set()
                while await reader.read(65536):
                    pass
                return
            if self._fate is not Fate.CUT_BEFORE:
                backwards.cancel()
                await asyncio.gather(backwards, return_exceptions=True)
                server.write(said)
                await server.drain()
            self.struck.set()
            if self._fate is not Fate.SILENCE:
                return

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while said := await reader.read(65536):
            await self._through()
            writer.write(self._alter(said))
            await writer.drain()
        await self._through()  # nobody hears of an end, either
        writer.close()

    async def _through(self) -> None:
        if not self._passes.is_set():
            self.held += 1
            await self._passes.wait()
