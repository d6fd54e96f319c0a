"""The two pipes: lines from stdin, answers to stdout, and as many calls at a time as a desk has room for."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from landfast import telemetry
from landfast.assistant.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Id,
    Request,
    RpcError,
    error_line,
    read,
    result_line,
)
from landfast.assistant.session import Session

LINE_BYTES = 256 * 1024
"""Of one message: five hundred ids and a long reason have 25,000."""

READ_BYTES = 64 * 1024
CALLS_AT_ONCE = 8
"""Whoever asks for more waits: an assistant asks for some at a time, and the inbox has better things to do."""

END = b""
"""No line is empty."""

Write = Callable[[bytes], None]


@contextmanager
def stdout_alone() -> Iterator[Write]:
    """The pipe to the client is ours alone: whatever else is printed, by an application that is loaded say, goes to
    stderr, where it breaks no message."""
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)

    def write(line: bytes) -> None:
        while line:
            line = line[os.write(ours, line) :]

    try:
        yield write
    finally:
        sys.stdout.flush()
        os.dup2(ours, 1)
        os.close(ours)


async def serve(session: Session, write: Write, *, stdin: int = 0) -> None:
    """Until stdin ends. What was asked by then is answered."""
    calls = _Calls(session, write)
    try:
        async for line in lines_of(stdin):
            await calls.take(line)
        await calls.ended()
    except BrokenPipeError:  # nobody reads any more
        pass
    finally:
        await calls.cancel()


class _Calls:
    def __init__(self, session: Session, write: Write) -> None:
        self._session = session
        self._write = write
        self._running: dict[Id, asyncio.Task[None]] = {}
        self._changes: set[Id] = set()
        """Those that change something."""
        self._unwanted: set[Id] = set()
        self._room = asyncio.Semaphore(CALLS_AT_ONCE)

    async def take(self, line: bytes | None) -> None:
        try:
            request = _read(line)
            if request is None:
                return
            if request.id is None:
                self._notified(request)
            elif request.method == "tools/call":  # a proof may take a minute, and a ping must not wait for it
                self._begin(request, request.id)
            else:
                await self._answer(request, request.id)
        except RpcError as error:
            self._write(error_line(error))

    def _begin(self, request: Request, id_: Id) -> None:
        if id_ in self._running:
            raise RpcError(INVALID_REQUEST, "id: a request of this id is under way; take another", id=id_)
        if self._session.is_change(request):
            self._changes.add(id_)
        self._running[id_] = asyncio.create_task(self._call(request, id_))

    async def ended(self) -> None:
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def cancel(self) -> None:
        running = [*self._running.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _call(self, request: Request, id_: Id) -> None:
        try:
            async with self._room:
                await self._answer(request, id_)
        except BrokenPipeError:  # nobody reads any more; stdin ends, too
            return
        finally:
            self._running.pop(id_, None)
            self._changes.discard(id_)
            self._unwanted.discard(id_)

    async def _answer(self, request: Request, id_: Id) -> None:
        try:
            line = result_line(id_, await self._session.answer(request))
        except RpcError as error:
            line = error_line(error, id_)
        except Exception as error:  # noqa: BLE001 - one message must not end the others
            telemetry.error("admin_question_failed", error=error)
            line = error_line(RpcError(INTERNAL_ERROR, "something that Landfast did not foresee; its log has it"), id_)
        if id_ not in self._unwanted:
            self._write(line)

    def _notified(self, request: Request) -> None:
        """A question that nobody waits for any more is stopped. A change is not: half of one helps nobody."""
        id_ = request.params.get("requestId")
        if request.method != "notifications/cancelled" or not isinstance(id_, str | int):
            return
        if id_ in self._changes:
            self._unwanted.add(id_)
        elif id_ in self._running:
            self._running[id_].cancel()


def _read(line: bytes | None) -> Request | None:
    if line is None:
        raise RpcError(INVALID_REQUEST, f"a message has {LINE_BYTES:,} bytes at most")
    return read(line)


async def lines_of(file: int) -> AsyncIterator[bytes | None]:
    """Line by line; None for one that is too long, and was not kept. Read by a thread, because stdin may be a pipe, a
    terminal or a file, and below Python's own buffer, whose lock a thread that still reads would hold at the end."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()
    room = threading.Semaphore(CALLS_AT_ONCE * 2)

    def put(line: bytes | None) -> None:
        room.acquire()
        loop.call_soon_threadsafe(queue.put_nowait, line)

    def work() -> None:
        splitter = Splitter()
        try:
            while chunk := os.read(file, READ_BYTES):
                for line in splitter.feed(chunk):
                    put(line)
            for line in splitter.feed(b"\n"):
                put(line)
            put(END)
        except RuntimeError:  # the loop is gone, and with it whoever would read
            return

    threading.Thread(target=work, name="stdin", daemon=True).start()
    while (line := await queue.get()) != END:
        room.release()
        yield line


class Splitter:
    """Bytes to lines that are no longer than they may be. Empty ones are left out."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._is_too_long = False

    def feed(self, chunk: bytes) -> list[bytes | None]:
        lines: list[bytes | None] = []
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            line = bytes(self._rest).strip()
            if self._is_too_long:
                lines.append(None)
            elif line:
                lines.append(line)
            self._rest.clear()
            self._is_too_long = False
        self._add(rest)
        return lines

    def _add(self, part: bytes) -> None:
        if len(self._rest) + len(part) > LINE_BYTES:
            self._is_too_long = True
            self._rest.clear()
        elif not self._is_too_long:
            self._rest += part
