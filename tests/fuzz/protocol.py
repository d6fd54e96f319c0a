"""The protocol under fuzz: one connection over a transport of our own, and everything that must hold of it.

The oracle:
- nothing is raised, and no answer is a 500
- every write is one whole answer; nothing follows one that closes
- each request that was counted has exactly one answer
- what is stored is a body that was signed, byte for byte
- however the bytes are cut, the answers are a prefix of what they are in one piece, and no more is stored
- what the connection keeps is bounded; after the end and the deadlines it is closed, and keeps nothing
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from random import Random
from typing import Any

from landfast.domain.census import SourceTally
from landfast.intake.policy.unproven import Unproven
from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.web.http.bodies import LINE_LIMIT, ChunkedBody
from landfast.web.http.channel import Phase
from landfast.web.http.connections import Connections, Limits, Line
from landfast.web.http.framing import HEAD_LIMIT
from landfast.web.http.protocol import Connection
from tests.fuzz import grammar
from tests.intake.desk import Desk, MemoryRecorder

STATUSES = frozenset({100, 200, 400, 401, 404, 405, 408, 413, 414, 415, 431, 503})
BODY_LIMIT = 64 * 1024
SLOW = 2.0
"""Seconds of computing for one case: hundreds of times what they take, so that only a runaway loop gets there."""

_ANSWER = re.compile(rb"HTTP/1\.1 (\d{3}) [A-Za-z -]+\r\n((?:[a-z-]+: [ -~]*\r\n)*)\r\n(.*)", re.DOTALL)


class Wire:
    """A transport that keeps what is written, and closes like a real one."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.is_paused = False
        self.is_closed = False
        self.is_shut = False
        self.connection: Connection | None = None

    def write(self, data: bytes) -> None:
        assert not self.is_shut, f"written after the end: {data!r}"
        if not self.is_closed:
            self.answers.append(data)

    def get_extra_info(self, _name: str) -> None:
        return None

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.is_shut = True

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            assert self.connection is not None
            asyncio.get_running_loop().call_soon(self.connection.connection_lost, None)

    abort = close


@dataclass
class Came:
    """What came of one stream of bytes."""

    statuses: list[int] = field(default_factory=list)
    stored: set[bytes] = field(default_factory=set)


class Soon(Line):
    """One that is served at every turn of the loop: nothing here waits for a clock."""

    def _come_back(self, spent: float) -> None:
        asyncio.get_running_loop().call_soon(self.serve)


class Protocol:
    """`run(seed)` is one case; it raises AssertionError when something does not hold."""

    def __init__(self) -> None:
        sources = tuple(
            Source(
                name, profile, (Secret("first", profile.decode_secret(grammar.SECRETS[name])),), body_limit=BODY_LIMIT
            )
            for name, profile in ((name, provider(name)) for name in grammar.SOURCES)
        )
        self.desk = Desk(sources=sources, unproven=Unproven(4 * BODY_LIMIT))
        self.now = 1000.0
        self.connections = Connections(self.desk.intake, limits=Limits(), time=lambda: self.now)
        self.connections.line = Soon(lambda: self.now)
        self.complaints: list[dict[str, Any]] = []
        self.statuses: dict[int, int] = {}

    async def run(self, draw: Random) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: self.complaints.append(context))
        started = time.process_time()
        data, signed = grammar.stream(draw, now=self.desk.clock.now().timestamp())
        cut = grammar.pieces(draw, data)
        whole = await self._feed([data], draw, is_calm=True)
        is_calm = draw.random() < 0.7
        split = await self._feed(cut, draw, is_calm=is_calm)
        assert whole.stored <= signed, "stored without a signature, or not whole"
        assert split.stored <= whole.stored, "stored in pieces what is not stored in one"
        ours = [_kind(status) for status in split.statuses]
        if not is_calm and ours and split.statuses[-1] in {400, 408}:
            ours.pop()  # too slow, or the end came in the middle
        assert ours == [_kind(status) for status in whole.statuses][: len(ours)], (split.statuses, whole.statuses)
        assert not self.complaints, self.complaints
        assert time.process_time() - started < SLOW, "too slow"
        for status in split.statuses:
            self.statuses[status] = self.statuses.get(status, 0) + 1

    async def _feed(self, pieces: list[bytes], draw: Random, *, is_calm: bool) -> Came:
        recorder = self._fresh_inbox()
        before = self._total()
        wire = Wire()
        wire.connection = connection = Connection(self.connections)
        connection.connection_made(wire)  # type: ignore[arg-type]  # as much of a transport as the protocol uses
        is_lost = False
        for number, piece in enumerate(pieces):
            await self._until_it_reads(wire)
            if wire.is_closed:
                break
            connection.data_received(piece)
            self._check_bounds(connection, pieces[max(0, number - 1) : number + 1])
            if not is_calm:
                is_lost = self._disturb(draw, connection, wire)
        await self._end(connection, wire, is_hasty=not is_calm and draw.random() < 0.3)
        assert not connection._buffer or connection._phase is Phase.CLOSING
        assert connection._body is None and self.desk.unproven.total == 0 and not self.connections.open
        after = self._total()
        assert after.received == after.stored + after.duplicate + after.rejected, "a request without an end"
        return self._read(wire, after.received - before.received, recorder, is_lost=is_lost)

    async def _until_it_reads(self, wire: Wire) -> None:
        for _ in range(500):
            await asyncio.sleep(0)
            if wire.is_closed or not wire.is_paused:
                return
        raise AssertionError("it never reads on")

    def _disturb(self, draw: Random, connection: Connection, wire: Wire) -> bool:
        """What networks and time do; True if the client is gone without a word."""
        match draw.randrange(12):
            case 0:
                connection.pause_writing()
                connection.resume_writing()
            case 1:
                self.now += draw.choice((0.5, 5.0, 40.0))
                self.connections.sweep(self.now)
            case 2 if draw.random() < 0.2 and not wire.is_closed:
                wire.close()
                return True
        return False

    async def _end(self, connection: Connection, wire: Wire, *, is_hasty: bool) -> None:
        """The client half-closes, after its last answer or before; then the deadlines pass."""
        await self._until_it_reads(wire)
        for _ in range(2_000):
            if is_hasty or (connection._phase is not Phase.ANSWERING and not connection._is_in_line):
                break
            await asyncio.sleep(0)
        else:
            raise AssertionError("it never answers")
        if not wire.is_closed and not connection.eof_received():
            wire.close()
        for _ in range(3):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            self.now += 100.0
            self.connections.sweep(self.now)
        await self.desk.group.close()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert wire.is_closed, f"still open in {connection._phase}"

    def _check_bounds(self, connection: Connection, came: list[bytes]) -> None:
        """A part of a head, and of the last two reads what waits for an answer: after the second, reading pauses."""
        assert len(connection._buffer) < HEAD_LIMIT + sum(map(len, came))
        body = connection._body
        if body is not None:
            assert body.size <= BODY_LIMIT
        if isinstance(body, ChunkedBody) and not body.has_more_to_read:
            assert len(connection._buffer) < LINE_LIMIT
        assert self.desk.unproven.total == len(connection._buffer) + (
            0 if body is None else body.size + connection._head_bytes
        )

    def _read(self, wire: Wire, received: int, recorder: MemoryRecorder, *, is_lost: bool) -> Came:
        came = Came(stored={delivery.body for delivery in recorder.events.values()})
        counted = 0
        for number, data in enumerate(wire.answers):
            found = _ANSWER.fullmatch(data)
            assert found, f"not an answer: {data!r}"
            status, head, body = int(found[1]), found[2], found[3]
            assert status in STATUSES, data
            closes = b"connection: close\r\n" in head
            assert not closes or number == len(wire.answers) - 1, "an answer after one that closes"
            if status == 100:
                continue
            length = re.search(rb"content-length: (\d+)\r\n", head)
            assert length and len(body) in (int(length[1]), 0), data
            came.statuses.append(status)
            is_health = status == 200 and int(length[1]) == len(b'{"status":"ok"}')
            counted += not is_health
        assert counted <= received and (is_lost or counted == received), f"{counted} answers to {received} requests"
        return came

    def _fresh_inbox(self) -> MemoryRecorder:
        self.desk.seen.clear()
        self.desk.recorder.events.clear()
        self.desk.recorder.batches.clear()
        return self.desk.recorder

    def _total(self) -> SourceTally:
        return sum(self.desk.tally.totals().values(), SourceTally())


def _kind(status: int) -> str:
    """A head that is wrong in two ways is refused for whichever shows first, and that depends on the cuts."""
    return "refused" if status in {400, 408, 413, 414, 431} else str(status)
