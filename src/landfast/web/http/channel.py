"""What a connection is between its bytes: its phase, its deadline, its unproven bytes, and how it ends."""

from __future__ import annotations

import asyncio
from enum import Enum, auto

from landfast.domain import answer as answers
from landfast.domain.answer import Answer
from landfast.domain.errors import FramingError, OverloadedError
from landfast.intake.receive import Admitted
from landfast.web.http.bodies import ChunkedBody, SizedBody
from landfast.web.http.connections import Connections
from landfast.web.http.framing import Start
from landfast.web.http.responses import render

_TOO_SLOW = answers.error(408, "request too slow", close=True)


class Phase(Enum):
    HEAD = auto()
    BODY = auto()
    ANSWERING = auto()
    LINGERING = auto()
    CLOSING = auto()


class Channel(asyncio.Protocol):
    """`Connection` reads requests from it, and answers them."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._phase = Phase.HEAD
        self._buffer = b""
        self._start: Start | None = None
        self._admitted: Admitted | None = None
        self._body: SizedBody | ChunkedBody | None = None
        self._is_ended = False
        """The client half-closed: it has nothing more to say, but waits for its answer."""
        self._is_choked = False
        """The client does not read its answers."""
        self._is_paused = False
        self._is_in_line = False
        """It has its next turn once the others had theirs."""
        self._pipelined_turns = 0
        """Turns in a row for requests that came before the answer to the one before them."""
        self._has_skipped = False
        """An empty line before this request: there is patience with one, whether it comes in pieces or not."""
        self._is_used = False
        """It has brought a whole request before."""
        self._is_proven = False
        """It has brought an event of somebody who has a secret."""
        self._is_heard = False
        """Something was looked at that was not an ordinary request and genuine."""
        self._is_charged = False
        """For being a stranger, or it never will be."""
        self._lingered = 0
        self._head_bytes = 0
        """Of the request whose body is being read."""
        self._held = 0
        """Bytes that are counted as unproven."""
        self._peer = ""
        self._transport: asyncio.Transport
        self.deadline = connections.time() + connections.limits.request_seconds

    def end_late(self) -> None:
        """The deadline has passed."""
        if self._is_midway() and not self._is_choked:
            self._refuse(FramingError("too slow", status=_TOO_SLOW))
        elif self._phase is Phase.HEAD:
            self._close()
        else:
            self._transport.abort()

    def end_for_room(self) -> None:
        """Its place is needed. Without lingering, as that would keep the place."""
        if self._is_midway() and not self._is_choked:
            error = OverloadedError("its place was needed")
            self._send(self._connections.intake.refuse(self._source_name(), error), closes=True)
            self._forget_request()
            self._close()
        elif self._phase is Phase.HEAD and not self._is_choked:
            self._close()
        else:
            self._transport.abort()

    def give_way(self) -> None:
        """Its bytes are needed. What a sender sent before its answer is sent again, once it learns that we close."""
        if self._phase is Phase.ANSWERING:
            self._buffer = b""
            self._is_ended = True
        else:
            self.end_for_room()

    def end_if_idle(self) -> None:
        # One that has not brought a request yet is no idle one: its sender waits for an answer, or is about to.
        if self._phase is Phase.HEAD and self._is_used and not self._buffer:
            self._close()

    def end_now(self) -> None:
        self._transport.abort()

    def _refuse(self, error: Exception) -> None:
        """The rest of the request, and so everything behind it, stays unread."""
        self._send(self._connections.intake.refuse(self._source_name(), error), closes=True)
        self._linger()

    def _send(self, answer: Answer, *, closes: bool) -> None:
        # For what we cannot do just now nobody is charged: it may be a sender as good as any.
        self._is_charged |= answer.status >= 500 or answer.status == 429
        is_head = self._start is not None and self._start.head.method == "HEAD"
        self._transport.write(render(answer, closes=closes, is_head=is_head))

    def _is_midway(self) -> bool:
        """A request has begun, and not all of it is there."""
        return self._phase is Phase.BODY or (self._phase is Phase.HEAD and bool(self._buffer))

    def _source_name(self) -> str | None:
        return None if self._admitted is None else self._admitted.source.name

    def _pause(self) -> None:
        if not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def _linger(self) -> None:
        """The answer is sent, and the client may still be sending: read on for a while, so that it gets to see it."""
        self._forget_request()
        self._charge_a_stranger()
        self._phase = Phase.LINGERING
        self.deadline = self._connections.time() + self._connections.limits.linger_seconds
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def _close(self) -> None:
        self._buffer = b""
        self._charge_a_stranger()
        self._phase = Phase.CLOSING
        self.deadline = self._connections.time() + self._connections.limits.linger_seconds
        self._transport.close()

    def _charge_a_stranger(self) -> None:
        """At its end. In ANSWERING an event is being stored, or waits for a provider's key. Not one of which nothing
        was looked at: a rest keeps out those who wait for their turn, and it waits for none."""
        if not self._is_proven and not self._is_charged and self._is_heard and self._phase is not Phase.ANSWERING:
            self._is_charged = True
            self._connections.newcomers.charge()

    def _forget_request(self) -> None:
        self._body = self._start = self._admitted = None
        self._let_go_of_bytes()

    def _wait_for_a_request(self) -> None:
        limits = self._connections.limits
        is_hurried = self._buffer or self._is_choked
        self.deadline = self._connections.time() + (limits.request_seconds if is_hurried else limits.idle_seconds)

    def _buy_time(self, size: int) -> None:
        """A body that comes fast enough has all the time that it needs. What it has come too fast buys no silence."""
        limits = self._connections.limits
        longest = self._connections.time() + limits.request_seconds
        self.deadline = min(self.deadline + size / limits.body_rate, longest)

    def _count_bytes(self) -> None:
        held = len(self._buffer) + (0 if self._body is None else self._body.size + self._head_bytes)
        if held != self._held:
            self._held = held
            self._connections.unproven.hold(self, self._source_name() or "", held)

    def _let_go_of_bytes(self) -> None:
        self._buffer = b""
        if self._held:
            self._count_bytes()
