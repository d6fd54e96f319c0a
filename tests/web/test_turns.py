"""How much one connection may have done before everybody else has a turn: counted, not timed."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from landfast.domain.census import SourceTally
from landfast.domain.errors import FramingError
from landfast.intake.large import LARGE_BYTES, LINE_BYTES, LONGEST_REST_SECONDS, OTHERS_SHARE, SECONDS_BETWEEN_TURNS
from landfast.intake.source import Source
from landfast.web.http import connections
from landfast.web.http.bodies import CHUNKS_IN_A_TURN, MEAN_CHUNK_BYTES, SMALL_CHUNKS, ChunkedBody
from landfast.web.http.connections import TURNS_AT_A_TIME, Connections, Limits
from landfast.web.http.protocol import PIPELINED_TURNS_AT_MOST, READING_SECONDS, STEPS_IN_A_TURN, Connection
from tests.fuzz.protocol import Wire
from tests.intake.desk import Desk, body, source, watched
from tests.patience import PATIENCE_SECONDS
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

    async def until_answered(self) -> None:
        """By a thread, which a busy machine may keep waiting."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not self.wire.answers:
                await asyncio.sleep(0)


async def test_a_few_requests_are_answered_in_a_turn_and_the_transport_does_not_read_on() -> None:
    line = Line()
    line.connection.data_received(HEALTH * 50)
    assert len(line.wire.answers) == STEPS_IN_A_TURN and line.wire.is_paused
    line.connection.data_received(HEALTH)  # TLS had decrypted that already
    line.connection.resume_writing()
    assert len(line.wire.answers) == STEPS_IN_A_TURN
    await line.turns_until(lambda: len(line.wire.answers) > STEPS_IN_A_TURN)
    assert len(line.wire.answers) == 2 * STEPS_IN_A_TURN and line.wire.is_paused
    turns = await line.turns_until(lambda: not line.wire.is_paused)
    assert len(line.wire.answers) == 51
    assert turns >= 51 // STEPS_IN_A_TURN // TURNS_AT_A_TIME - 2


async def test_who_never_waits_for_an_answer_is_told_to_close() -> None:
    line = Line()
    line.connection.data_received(HEALTH * 900)
    await line.turns_until(lambda: b"connection: close" in line.wire.answers[-1])
    assert len(line.wire.answers) == PIPELINED_TURNS_AT_MOST * STEPS_IN_A_TURN + 1
    waiting = Line()
    for _ in range(100):  # and who waits is not
        waiting.connection.data_received(HEALTH * STEPS_IN_A_TURN)
        await waiting.turns_until(lambda: not waiting.connection._is_in_line)
    assert not any(b"connection: close" in answer for answer in waiting.wire.answers)


async def test_many_who_pipeline_share_what_one_would_have() -> None:
    first, *others = lines = [Line() for _ in range(16)]
    for other in others:
        other.connection._connections = first.connections
    for line in lines:
        line.connection.data_received(HEALTH * 60)
    for served in range(1, 30):
        first.connections.line.serve()
        answers = sum(len(line.wire.answers) for line in lines)
        assert answers == (16 + served * TURNS_AT_A_TIME) * STEPS_IN_A_TURN
    assert (
        max(len(line.wire.answers) for line in lines) <= min(len(line.wire.answers) for line in lines) + STEPS_IN_A_TURN
    )


async def test_a_large_body_waits_in_line_and_is_then_received_as_any_other() -> None:
    line = Line()
    request = _delivered(line.desk, body() + b" " * LINE_BYTES)
    line.connection.data_received(request[:-1])
    assert await line.turns_until(lambda: not line.wire.is_paused)
    line.connection.data_received(request[-1:])
    assert not line.wire.answers and not line.desk.recorder.events
    await line.until_answered()
    assert line.wire.answers[0].startswith(b"HTTP/1.1 200 ")
    assert not line.wire.is_paused and line.desk.unproven.total == 0


async def test_a_body_that_is_whole_is_not_too_slow_however_long_it_waits_in_line() -> None:
    line = Line()
    line.connection.data_received(_delivered(line.desk, body() + b" " * LINE_BYTES))
    line.now += 60.0
    line.connections.sweep(line.now)
    await line.until_answered()
    assert line.wire.answers[0].startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("comes_at_once", [False, True])
async def test_a_large_body_is_received_in_the_thread(comes_at_once: bool) -> None:
    watched_source, scheme = watched(source(body_limit=2 * LARGE_BYTES))
    line = Line(watched_source)
    content = body() + b" " * LARGE_BYTES
    request = _delivered(line.desk, content)
    line.connection.data_received(request if comes_at_once else request[:-1])
    if not comes_at_once:
        await line.turns_until(lambda: not line.wire.is_paused)
        line.connection.data_received(request[-1:])
    await line.until_answered()
    assert line.wire.answers[0].startswith(b"HTTP/1.1 200 ")
    assert scheme.threads and threading.current_thread() not in scheme.threads
    assert not line.wire.is_paused and line.desk.unproven.total == 0


async def test_half_of_a_chunks_head_after_a_large_body_waits_for_its_rest_and_in_no_line() -> None:
    line = Line()
    content = body() + b" " * LINE_BYTES
    head = _delivered(line.desk, content).partition(b"\r\nContent-Length")[0]
    request = head + b"\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0" % (len(content), content)
    line.connection.data_received(request)
    await line.turns_until(lambda: not line.wire.is_paused)
    line.connection.data_received(b"\r\n\r\n")
    assert not line.wire.answers
    await line.until_answered()
    assert line.wire.answers[0].startswith(b"HTTP/1.1 200 ")


async def test_who_leaves_while_its_large_body_waits_is_not_received() -> None:
    line = Line()
    request = _delivered(line.desk, body() + b" " * LINE_BYTES)
    line.connection.data_received(request[:-1])
    line.connection.data_received(request[-1:])
    line.connection.connection_lost(None)
    line.connections.line.serve()
    assert not line.desk.recorder.events and line.desk.unproven.total == 0


@pytest.mark.parametrize("empty_lines", [1, 2])
async def test_there_is_patience_with_one_empty_line_in_pieces_as_in_one(empty_lines: int) -> None:
    answers = []
    for size in (1, 2, 3, 1000):
        line = Line()
        stream = b"\r\n" * empty_lines + HEALTH
        for at in range(0, len(stream), size):
            line.connection.data_received(stream[at : at + size])
        answers += [answer.partition(b"\r\n")[0] for answer in line.wire.answers]
    assert answers == [b"HTTP/1.1 200 OK" if empty_lines == 1 else b"HTTP/1.1 400 Bad Request"] * 4


async def test_the_line_waits_twice_as_long_as_its_turns_took(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda wait, _: waits.append(wait), raising=False)
    line = Line()

    def take_turn(seconds: float) -> None:
        line.now += seconds

    for seconds in (0.004, 0.0001, 0.0001, 0.0001):
        line.connections.line.join(functools.partial(take_turn, seconds))
    line.connections.line.serve()  # the first alone
    line.connections.line.serve()  # two that are quick
    assert waits == pytest.approx([SECONDS_BETWEEN_TURNS, OTHERS_SHARE * 0.004, SECONDS_BETWEEN_TURNS])


async def test_the_line_does_not_stand_still_because_the_machine_did(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda wait, _: waits.append(wait), raising=False)
    line = Line()

    def stand_still() -> None:
        line.now += 60.0

    for _ in range(2):
        line.connections.line.join(stand_still)
    line.connections.line.serve()
    assert waits == [SECONDS_BETWEEN_TURNS, LONGEST_REST_SECONDS], "else all who wait in it would be late"


async def test_the_line_waits_for_what_large_bodies_have_it_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is read after their turn, and takes as long as to look into it."""
    waits: list[float] = []
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda wait, _: waits.append(wait), raising=False)
    line = Line()
    request = _delivered(line.desk, body() + b" " * 7 * LINE_BYTES)
    line.connection.data_received(request[: 2 * LINE_BYTES])
    for number in range(1, TURNS_AT_A_TIME + 1):
        line.connections.line.join(lambda: None, READING_SECONDS if number < TURNS_AT_A_TIME else 0.0)
    line.connections.line.serve()
    assert waits == pytest.approx([SECONDS_BETWEEN_TURNS, (OTHERS_SHARE + 1) * 2 * READING_SECONDS])


async def test_whoever_joins_again_in_its_turn_does_not_double_its_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    coming: list[Callable[[], None]] = []
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda _, serve: coming.append(serve), raising=False)
    line = Line().connections.line

    def take_turn() -> None:
        line.join(take_turn)

    line.join(take_turn)
    for _ in range(20):
        (serve,) = coming
        coming.clear()
        serve()
    assert len(coming) == 1


def _delivered(desk: Desk, content: bytes) -> bytes:
    head = ["POST /in/stripe HTTP/1.1", "Host: a", *[f"{n}: {v}" for n, v in desk.headers(content).items()]]
    return "\r\n".join(head).encode() + b"\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)


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


async def test_a_turn_that_raises_ends_nobody_elses_wait() -> None:
    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(str(what["exception"])))
    line = connections.Line(lambda: 0.0)

    def broken() -> None:
        raise ValueError("a bug")

    served = asyncio.Event()
    line.join(broken)
    line.join(served.set)
    await asyncio.wait_for(served.wait(), PATIENCE_SECONDS)
    assert told == ["a bug"]
