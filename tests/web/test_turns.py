"""How much one connection may have done before everybody else has a turn: counted, not timed."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from typing import Any

import pytest

from landfast.domain.census import SourceTally
from landfast.domain.errors import FramingError
from landfast.intake.source import Source
from landfast.web.http.bodies import CHUNKS_IN_A_TURN, MEAN_CHUNK_BYTES, SMALL_CHUNKS, ChunkedBody
from landfast.web.http.connections import Connections, Limits
from landfast.web.http.protocol import STEPS_IN_A_TURN, Connection
from tests.fuzz.protocol import Wire
from tests.intake.desk import Desk, body, source
from tests.web.client import Shop, in_chunks

HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
NOBODY = b"POST /x HTTP/1.1\r\nHost: a\r\n\r\n"


class Line:
    """A connection over a wire of our own, in a loop that the test turns."""

    def __init__(self, *sources: Source) -> None:
        self.desk = Desk(sources=sources) if sources else Desk()
        self.now = 1000.0
        self.connections = Connections(self.desk.intake, limits=Limits(), time=lambda: self.now)
        self.wire = Wire()
        self.wire.connection = self.connection = Connection(self.connections)
        self.connection.connection_made(self.wire)  # type: ignore[arg-type]  # as much of a transport as is used

    async def turns_until(self, holds: Callable[[], bool]) -> int:
        count = 0
        while not holds():
            count += 1
            assert count < 100_000
            await asyncio.sleep(0)
        return count


async def test_a_few_requests_are_answered_in_a_turn_and_the_transport_does_not_read_on() -> None:
    line = Line()
    line.connection.data_received(HEALTH * 9_000)
    assert len(line.wire.answers) == STEPS_IN_A_TURN and line.wire.is_paused
    line.connection.data_received(HEALTH)  # TLS had decrypted that already
    line.connection.resume_writing()
    assert len(line.wire.answers) == STEPS_IN_A_TURN
    await asyncio.sleep(0)
    assert len(line.wire.answers) == 2 * STEPS_IN_A_TURN and line.wire.is_paused
    turns = await line.turns_until(lambda: not line.wire.is_paused)
    assert len(line.wire.answers) == 9_001
    assert turns >= 9_001 // STEPS_IN_A_TURN - 2


@pytest.mark.parametrize("status", [404, 401, 405])
async def test_nothing_behind_a_refusal_is_looked_at(status: int) -> None:
    line = Line()
    content = body()
    forged = "\r\n".join(
        ["POST /in/stripe HTTP/1.1", "Host: a", *[f"{n}: {v}" for n, v in line.desk.headers(b"{}").items()]]
    ).encode() + b"\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)
    request = {404: NOBODY, 401: forged, 405: NOBODY.replace(b"POST /x", b"PUT /in/stripe")}[status]
    line.connection.data_received(request * 500)
    assert len(line.wire.answers) == 1 and line.wire.answers[0].startswith(b"HTTP/1.1 %d " % status)
    assert sum(each.rejected for each in line.desk.tally.totals().values()) == 1
    assert line.desk.unproven.total == 0


async def test_what_is_behind_the_last_answer_in_line_is_refused_when_it_was_cut_short() -> None:
    line = Line()
    line.connection.data_received(HEALTH * (STEPS_IN_A_TURN + 2) + HEALTH[:9])
    assert line.connection.eof_received()
    await line.turns_until(lambda: not line.connection._is_in_line)
    statuses = [int(answer[9:12]) for answer in line.wire.answers]
    assert statuses == [200] * (STEPS_IN_A_TURN + 2) + [400]


async def test_who_is_in_line_at_the_end_is_answered_and_let_go() -> None:
    line = Line()
    line.connection.data_received(HEALTH * (STEPS_IN_A_TURN + 2))
    assert line.connection.eof_received()
    await line.turns_until(lambda: line.wire.is_closed)
    assert len(line.wire.answers) == STEPS_IN_A_TURN + 2
    line = Line()
    line.connection.data_received(HEALTH * STEPS_IN_A_TURN + b"\r\n")
    assert line.connection.eof_received()
    await line.turns_until(lambda: line.wire.is_closed)
    assert len(line.wire.answers) == STEPS_IN_A_TURN


async def test_chunks_are_read_in_turns_too() -> None:
    line = Line()
    content = b'{"id":"evt_1","type":"t","note":"' + b"x" * 100_000 + b'"}'
    head = "\r\n".join(
        ["POST /in/stripe HTTP/1.1", "Host: a", *[f"{n}: {v}" for n, v in line.desk.headers(content).items()]]
    ).encode()
    line.connection.data_received(head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + in_chunks(content, 300))
    read = line.connection._body
    assert isinstance(read, ChunkedBody) and read._chunks == CHUNKS_IN_A_TURN and line.wire.is_paused
    turns = await line.turns_until(lambda: bool(line.wire.answers))
    assert turns >= len(content) // 300 // CHUNKS_IN_A_TURN
    assert line.wire.answers[0].startswith(b"HTTP/1.1 200 ")
    (stored,) = line.desk.recorder.events.values()
    assert stored.body == content


@pytest.mark.parametrize("size", [1, 5, MEAN_CHUNK_BYTES - 8])
def test_a_body_of_small_chunks_is_refused_within_a_few_hundred(size: int) -> None:
    chunk = b"%x\r\n%s\r\n" % (size, b"x" * size)
    reading, left, fed = ChunkedBody(1 << 24), b"", 0
    with contextlib.suppress(FramingError):
        while fed < 1 << 16:
            left = reading.feed(left + chunk)
            fed += 1
    assert fed <= SMALL_CHUNKS * MEAN_CHUNK_BYTES // (MEAN_CHUNK_BYTES - size) + 1


@pytest.mark.parametrize("size", [1, 40, MEAN_CHUNK_BYTES, 4_096, 65_536])
def test_a_sender_that_writes_lines_or_buffers_as_chunks_is_read(size: int) -> None:
    content = b"x" * (size * (SMALL_CHUNKS - 1) if size < MEAN_CHUNK_BYTES else 1_000_000)
    reading, left = ChunkedBody(len(content)), in_chunks(content, size) + b"next"
    while not reading.is_whole:
        left = reading.feed(left)
    assert (reading.whole(), left) == (content, b"next")


async def test_bytes_that_came_fast_buy_no_silence() -> None:
    """20 MiB in an instant would buy five minutes at 64 KiB a second."""
    line = Line(source(body_limit=30 << 20))
    content = b"x" * (20 << 20)
    request = Shop.post(line, content)[:-1]  # type: ignore[arg-type]  # it has a desk as well
    for at in range(0, len(request), 1 << 20):
        line.connection.data_received(request[at : at + (1 << 20)])
    assert line.connection.deadline <= line.now + Limits().request_seconds
    assert line.desk.unproven.total == len(content) - 1 + line.connection._head_bytes
    line.now += Limits().request_seconds
    line.connections.sweep(line.now)
    assert line.wire.answers[0].startswith(b"HTTP/1.1 408 ") and line.desk.unproven.total == 0
    assert line.desk.count() == SourceTally(1, 0, 0, 1)


async def test_heads_are_in_the_budget_while_their_bodies_do_not_come() -> None:
    """A hundred headers take more memory than the body that they announce."""
    line = Line()
    odd = [f"X-{number}: {'y' * 150}" for number in range(80)]
    line.connection.data_received(Shop.post(line, body(), *odd)[: -len(body())])  # type: ignore[arg-type]  # it has a desk
    assert line.desk.unproven.total > 80 * 300
    line.connection.data_received(body())
    await line.turns_until(lambda: bool(line.wire.answers))
    assert line.wire.answers[0].startswith(b"HTTP/1.1 200 ") and line.desk.unproven.total == 0


@pytest.mark.parametrize(
    "text",
    [
        b"POST /in/stripe HTTP/1.1\nHost: a\nContent-Length: 3\n\nabc",
        b"POST /in/stripe HTTP/1.1\r\nHost: a\nContent-Length: 3",
        b"\n",
    ],
    ids=["all of the head", "one line", "alone"],
)
async def test_a_bare_lf_in_a_head_is_refused_at_once(text: bytes) -> None:
    line = Line()
    line.connection.data_received(text)
    assert line.wire.answers[0].startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("text", [b"5\n", b"5\r\nhello\n", b"5\r\nhello\r\n0\n", b"0\r\n\n", b"0\r\nX-A: b\n"])
def test_a_bare_lf_among_chunks_is_refused_at_once(text: bytes) -> None:
    with pytest.raises(Exception, match=r"chunk|trailer"):
        ChunkedBody(100).feed(text)


async def test_the_log_of_refusals_has_a_line_a_second_and_the_tally_counts_all(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Of each kind: no source, no signature, a wrong one, a broken request."""
    desk = Desk()
    genuine = desk.head(body())
    kinds: list[Callable[[], Any]] = [
        lambda: desk.intake.admit(desk.head(body(), path="/in/nobody")),
        lambda: desk.intake.admit(desk.head(body(), ago=9_999)),
        lambda: desk.intake.receive(desk.intake.admit(genuine), b"{}", lambda _: None),
        lambda: desk.intake.refuse(None, ValueError("a bug")),
    ]
    with caplog.at_level("INFO", "landfast"):
        for number in range(61):
            if number == 60:
                assert len(caplog.records) <= 5
                desk.clock.advance(1)
            for kind in kinds:
                with contextlib.suppress(Exception):  # refused, as it should be
                    kind()
            desk.intake.reports.guesser.finish()
    assert sum(each.rejected for each in desk.tally.totals().values()) == 244
    written = [record.getMessage() for record in caplog.records]
    told = sum(int(found[1]) for line in written if (found := re.search(r"others=(\d+)", line)))
    silent = sum(others for _, others in desk.intake.reports._thinned.values())
    assert len(written) <= 9 and len(written) + told + silent == 244
