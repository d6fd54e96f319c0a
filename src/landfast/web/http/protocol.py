"""One connection: reads requests one after the other, and answers each before it looks at the next.

    HEAD --head--> BODY --whole--> ANSWERING --answer--> HEAD ...
      |              |                 |
      +--refused-----+--refused--> LINGERING --> gone    (an answer that closes, with nothing left to read: CLOSING)

A small request that arrives in one piece passes HEAD and BODY in one call, with no task and no timer of its own.
Whoever sends more than a few at once waits in line for another turn after these, and is not read meanwhile. Nor is a
newcomer that waits for strangers.
"""

from __future__ import annotations

import asyncio
import math
from typing import cast

from landfast.domain.answer import Answer
from landfast.domain.errors import FramingError
from landfast.intake.answers import answer_to
from landfast.intake.large import LINE_BYTES
from landfast.intake.receive import Admitted
from landfast.web.health import vital_sign
from landfast.web.http.bodies import ChunkedBody, SizedBody
from landfast.web.http.channel import Channel, Phase
from landfast.web.http.framing import ORDINARY_START, TARGET_LIMIT, Start, end_of_head, parse_head, whole_request
from landfast.web.http.responses import CONTINUE

STEPS_IN_A_TURN = 4
"""Requests answered, or groups of chunks read, in one call. No sender pipelines webhooks, and at 60 microseconds each
it is a quarter of a millisecond that everybody else waits for."""

READING_SECONDS = 0.00035
"""For the quarter of a megabyte that a large body may have read in one turn, most of it in the kernel."""

PIPELINED_TURNS_AT_MOST = 16
"""Turns in a row for requests sent without waiting for an answer: 64 of them. Who sends more is told to close:
answers that nobody reads pile up in the kernel, and cost it more than the requests cost us."""


class Connection(Channel):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self._peer = peer[0] if isinstance(peer, tuple) else ""
        is_full = self._connections.is_full and not self._connections.make_room()
        self._connections.open.add(self)
        if is_full:
            self._send(self._connections.intake.busy(), closes=True)
            self._close()

    def data_received(self, data: bytes) -> None:
        phase = self._phase
        if phase is Phase.LINGERING:
            self._lingered += len(data)
            if self._lingered > self._connections.limits.linger_bytes:
                self._transport.abort()
        elif phase is Phase.ANSWERING or self._is_choked or self._is_in_line:
            # One request at a time: what comes early waits in the kernel, at the sender's cost.
            self._buffer += data
            self._pause()
        elif phase is Phase.HEAD and not self._buffer and self._take_ordinary(data):
            return
        elif phase is Phase.HEAD and not self._is_proven and self._connections.newcomers.have_to_wait:
            self._wait_as_a_newcomer(data)
        elif phase is not Phase.CLOSING:
            is_first = not self._buffer
            self._buffer = data if is_first else self._buffer + data
            if phase is Phase.BODY:
                self._buy_time(len(data))
                self._advance()
            else:
                self._advance()
                # Of a new connection the first request has its deadline already, and its first byte buys no time.
                if is_first and self._is_used and self._is_midway():
                    self.deadline = self._connections.time() + self._connections.limits.request_seconds
        if self._buffer or self._held or self._body is not None:
            self._count_bytes()

    def _take_ordinary(self, data: bytes) -> bool:
        """Whether a request was all that came, and of the usual form: then it is answered, or will be. Everything else
        is left to `_advance`, as it came."""
        ordinary = self._connections.intake.ordinary
        line = data[: data.find(b"\r\n", 0, TARGET_LIMIT)]
        whole = None if line not in ordinary.lines or self._connections.is_draining else whole_request(data)
        if whole is None:
            return False
        try:
            taken = ordinary.take(line, *whole, self._answered)
            if taken is None:
                return False
            self._start = ORDINARY_START
            self._is_proven = True
            if isinstance(taken, Answer):
                self._answer(taken)
            else:
                self._phase = Phase.ANSWERING
                self.deadline = math.inf  # the inbox's own timeouts end this wait
        except Exception as error:  # noqa: BLE001 - a bug of ours is answered too, and stops no other connection
            self._refuse(error)
        return True

    def eof_received(self) -> bool:
        """True keeps the other direction open."""
        if self._phase is Phase.ANSWERING or self._is_in_line:
            self._is_ended = True
            # asyncio's TLS transports cannot stay half-open; there the event is stored and the answer is lost.
            return self._transport.can_write_eof()
        self._end_request()
        return False

    def _end_request(self) -> None:
        if self._is_midway():
            self._refuse(FramingError("the request was cut short"))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if self._phase is Phase.BODY:
            self._connections.intake.refuse(self._source_name(), FramingError("the connection was lost in the body"))
            self._forget_request()
        self._charge_a_stranger()
        # In ANSWERING the event is being stored, whoever is there to hear of it.
        self._phase = Phase.CLOSING
        self._connections.forget(self)
        self._let_go_of_bytes()

    def pause_writing(self) -> None:
        self._is_choked = True

    def resume_writing(self) -> None:
        self._is_choked = False
        if self._phase is Phase.HEAD:
            self._wait_for_a_request()
        self._go_on()

    def _advance(self) -> None:
        self._is_heard = True
        try:
            for _ in range(STEPS_IN_A_TURN):
                if not self._buffer:
                    self._pipelined_turns = 0
                    return
                if self._is_choked:
                    return
                if self._phase is Phase.HEAD:
                    goes_on = self._read_head()
                elif self._phase is Phase.BODY:
                    goes_on = self._read_body()
                else:
                    return
                if not goes_on:
                    return
            self._pipelined_turns += self._phase is Phase.HEAD
            self._get_in_line()
        except Exception as error:  # noqa: BLE001 - a bug of ours is answered too, and stops no other connection
            self._refuse(error)

    def _read_head(self) -> bool:
        if not self._has_skipped and self._buffer.startswith(b"\r\n"):
            self._buffer = self._buffer[2:]  # RFC 9112 asks for patience with one empty line between requests
            self._has_skipped = True
        end = end_of_head(self._buffer)
        if end < 0:
            return False
        self._has_skipped = False
        start = self._start = parse_head(self._buffer[:end], self._peer, self._connections.is_secure)
        head = start.head
        length = head.content_length or 0
        is_whole = not start.is_chunked and len(self._buffer) - end >= length
        body = self._buffer[end : end + length] if is_whole else b""
        self._buffer = self._buffer[end + len(body) :]
        if head.method != "POST" and (sign := vital_sign(head, self._connections.intake.ready)) is not None:
            self._answer_early(sign, is_whole=is_whole)
            return True
        try:
            admitted = self._connections.intake.admit(head)
        except Exception as error:  # noqa: BLE001 - intake has counted and logged it
            self._answer_early(answer_to(error), is_whole=is_whole)
            return True
        self._admitted = admitted
        if is_whole and length <= LINE_BYTES:
            self._receive(admitted, body)
        else:
            self._buffer = body + self._buffer
            self._expect_body(start, admitted)
        return True

    def _expect_body(self, start: Start, admitted: Admitted) -> None:
        self._body = (
            ChunkedBody(admitted.source.body_limit) if start.is_chunked else SizedBody(start.head.content_length or 0)
        )
        self._head_bytes = start.head.footprint
        self._phase = Phase.BODY
        if start.expects_continue and not self._buffer:
            self._transport.write(CONTINUE)

    def _read_body(self) -> bool:
        assert self._body is not None and self._admitted is not None  # noqa: S101, PT018 - what phase BODY means
        size = self._body.size
        self._buffer = self._body.feed(self._buffer)
        went_on = self._body.is_whole or self._body.size > size  # with half of a chunk's head it waits for the rest
        if self._body.has_more_to_read or (went_on and self._body.size > LINE_BYTES):
            self._get_in_line()
            return False
        if not self._body.is_whole:
            return False
        body, self._body = self._body, None
        self._receive(self._admitted, body.whole())
        return True

    def _receive(self, admitted: Admitted, body: bytes) -> None:
        self._admitted = None  # from here on intake answers for it, whatever becomes of the connection
        answer = self._connections.intake.receive(admitted, body, self._answered)
        if answer is not None:
            self._is_proven |= answer.status < 300 and admitted.greeting is None
            self._answer(answer)
        else:
            self._phase = Phase.ANSWERING
            self.deadline = math.inf  # the inbox's own timeouts end this wait

    def _answered(self, answer: Answer) -> None:
        if self._phase is Phase.ANSWERING:  # else the client is gone
            self._is_proven |= answer.status < 300
            self._answer(answer)
            self._go_on()

    def _answer(self, answer: Answer) -> None:
        """The request was read to its end: the connection may go on."""
        start = self._start
        is_last = not self._buffer and self._is_ended
        is_last = is_last or self._pipelined_turns >= PIPELINED_TURNS_AT_MOST
        closes = answer.close or start is None or not start.keeps_alive or is_last or self._connections.is_draining
        self._send(answer, closes=closes)
        self._start = None
        if closes and self._buffer:
            self._linger()
            return
        if closes:
            self._close()
            return
        self._phase = Phase.HEAD
        self._is_used = True
        self._wait_for_a_request()

    def _answer_early(self, answer: Answer, *, is_whole: bool) -> None:
        if is_whole:
            self._answer(answer)
        else:
            self._send(answer, closes=True)
            self._linger()

    def _go_on(self) -> None:
        if self._is_in_line:
            return
        self._advance()
        # Only when what came early is used up: otherwise each answer would let in more than its request took.
        is_free = self._is_paused and not self._is_choked and not self._is_in_line
        if is_free and self._phase is not Phase.ANSWERING and self._phase is not Phase.CLOSING:
            self._is_paused = False
            self._transport.resume_reading()
            if self._is_ended:
                self._end_request()
                if self._phase is Phase.HEAD:
                    self._close()
        if self._buffer or self._held or self._body is not None:
            self._count_bytes()

    def _wait_as_a_newcomer(self, data: bytes) -> None:
        if not self._buffer:  # once: who drips its request would buy time with each byte
            self.deadline = self._connections.time() + self._connections.limits.request_seconds
        self._buffer += data
        self._is_in_line = True
        self._pause()
        self._connections.newcomers.wait(self._take_turn)

    def _get_in_line(self) -> None:
        """Let the others have a turn. Without a pause the transport would read on, some thirty times, before that."""
        self._is_in_line = True
        self._pause()
        is_large = self._body is not None and self._body.size > LINE_BYTES
        if self._body is not None and self._body.is_whole:
            self.deadline = math.inf  # all of it is here: who is late from now on is us
        self._connections.line.join(self._take_turn, READING_SECONDS if is_large else 0.0)

    def _take_turn(self) -> None:
        self._is_in_line = False
        if self._admitted is not None and self._body is not None and self._body.is_whole:
            self._receive_large(self._admitted, self._body)
        self._go_on()

    def _receive_large(self, admitted: Admitted, body: SizedBody | ChunkedBody) -> None:
        self._admitted = self._body = None
        self._phase = Phase.ANSWERING
        self.deadline = math.inf  # it has a deadline of its own
        try:
            answer = self._connections.intake.large.receive(admitted, body.whole, body.size, self._answered)
            if answer is not None:
                self._is_proven |= answer.status < 300 and admitted.greeting is None
                self._answer(answer)
        except Exception as error:  # noqa: BLE001 - a bug of ours is answered too, and stops no other connection
            self._refuse(error)
