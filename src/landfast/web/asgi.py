"""Intake as an ASGI application, to be mounted in FastAPI, Starlette, Litestar or Django, at any prefix."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from landfast.domain import answer as answers
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import BodyTooLargeError, FramingError, OverloadedError, SenderError
from landfast.intake.answers import answer_to
from landfast.intake.large import LINE_BYTES
from landfast.intake.receive import Admitted, Intake
from landfast.web.health import vital_sign
from landfast.web.http.bodies import Pieces
from landfast.web.http.connections import Limits
from landfast.web.http.responses import NO_CONTENT

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_TOO_SLOW = answers.error(408, "request too slow", close=True)


def asgi_app(intake: Intake, *, limits: Limits | None = None) -> Application:
    """Some servers time out neither a slow body nor a large one, so our own limits hold here too. Slow headers are the
    server's: a request that has not begun never gets here."""
    allowed = limits or Limits()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            head = head_of(scope)
            answer = vital_sign(head, intake.ready) or (await take_in(intake, head, receive, allowed))[0]
            await send_answer(send, answer, is_head=head.method == "HEAD")

    return app


class ArrivingBody:
    """What there is of a body: a holder of unproven bytes."""

    def __init__(self, within: asyncio.Timeout) -> None:
        self._within = within
        self._pieces = Pieces()
        self.size = 0
        self.has_given_way = False

    @property
    def deadline(self) -> float:
        when = self._within.when()
        return math.inf if when is None else when

    def add(self, piece: bytes) -> None:
        self._pieces.add(piece)
        self.size += len(piece)

    def whole(self) -> bytes:
        return self._pieces.whole()

    def buy_time(self, size: int, limits: Limits) -> None:
        longest = asyncio.get_running_loop().time() + limits.request_seconds
        self._within.reschedule(min(self.deadline + size / limits.body_rate, longest))

    def give_way(self) -> None:
        self.has_given_way = True
        self._pieces = Pieces()
        if not self._within.expired():  # its time may be up in this very moment
            self._within.reschedule(0.0)


async def _live(receive: Receive, send: Send) -> None:
    """Nothing to start or stop here: whoever built the intake opens and closes its stores."""
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


async def take_in(intake: Intake, head: Head, receive: Receive, limits: Limits) -> tuple[Answer, bytes]:
    """The answer, and the body where it brought events."""
    try:
        admitted = intake.admit(head)
    except Exception as error:  # noqa: BLE001 - answered like any other, and logged where it was counted
        return answer_to(error), b""
    try:
        body = await _read_body(intake, admitted, receive, limits)
    except TimeoutError:
        return intake.refuse(admitted.source.name, FramingError("too slow", status=_TOO_SLOW)), b""
    except (SenderError, OverloadedError) as error:
        return intake.refuse(admitted.source.name, error), b""
    except BaseException:  # cancelled, or the server's own `receive` failed: it still ends as one of the three
        intake.refuse(admitted.source.name, FramingError("given up in the body"))
        raise
    began = intake.monotonic()
    try:
        responding = intake.large.begin(admitted, body.whole, body.size)
    finally:
        if body.size > LINE_BYTES:
            intake.large.turns.end(intake.monotonic() - began)
    answer = await responding
    return answer, body.whole() if answer.events else b""


async def _read_body(intake: Intake, admitted: Admitted, receive: Receive, limits: Limits) -> ArrivingBody:
    """A large one has its turn when this returns."""
    async with asyncio.timeout(limits.request_seconds) as within:
        body = ArrivingBody(within)
        try:
            await _gather(body, intake, admitted, receive, limits)
            # Some servers end a body that was cut short like a whole one.
            if admitted.head.content_length not in {None, body.size}:
                raise FramingError("the body was cut short")
            if body.size > LINE_BYTES:
                within.reschedule(None)  # all of it is here: who is late from now on is us
                _hold(body, intake, admitted)
                await intake.large.turns.take()
                if body.has_given_way:
                    intake.large.turns.end(0.0)
            # It may have given way in the very turn of the loop in which all of it was there.
            _check_held(body)
        except asyncio.CancelledError:
            if body.has_given_way:
                raise OverloadedError("its bytes were needed") from None
            raise
        finally:
            intake.unproven.hold(body, admitted.source.name, 0)
    return body


async def _gather(body: ArrivingBody, intake: Intake, admitted: Admitted, receive: Receive, limits: Limits) -> None:
    is_last = False
    while not is_last:
        _hold(body, intake, admitted)
        piece, is_last = await _piece(receive)
        body.add(piece)
        if body.size > admitted.source.body_limit:
            raise BodyTooLargeError("more than the limit arrived")
        body.buy_time(len(piece), limits)


def _hold(body: ArrivingBody, intake: Intake, admitted: Admitted) -> None:
    intake.unproven.hold(body, admitted.source.name, admitted.head.footprint + body.size)
    _check_held(body)


def _check_held(body: ArrivingBody) -> None:
    """What has given way is no body any more: it would be taken for a forged one."""
    if body.has_given_way:
        raise OverloadedError("its bytes were needed")


async def _piece(receive: Receive) -> tuple[bytes, bool]:
    """The next one, and whether it is the last."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise FramingError("the connection was lost in the body")
    return message.get("body", b""), not message.get("more_body", False)


async def send_answer(send: Send, answer: Answer, *, is_head: bool = False) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": headers_of(answer)})
    await send({"type": "http.response.body", "body": b"" if is_head else answer.body})


def headers_of(answer: Answer) -> list[tuple[bytes, bytes]]:
    headers = list(answer.headers)
    if answer.status != NO_CONTENT:
        headers += [
            (b"content-type", answer.content_type),
            (b"content-length", b"%d" % len(answer.body)),
            (b"x-content-type-options", b"nosniff"),
        ]
    if answer.close:
        headers.append((b"connection", b"close"))
    return headers


def head_of(scope: Scope) -> Head:
    path, prefix = scope["path"], scope.get("root_path", "")
    if prefix and path.startswith(prefix):
        path = path[len(prefix) :]
    path = path.rstrip("/") or "/"  # Litestar adds one to whatever it mounts
    headers = Headers(scope["headers"])
    length = headers.get(b"content-length")
    is_number = length is not None and length.isdigit() and len(length) < 19
    peer = scope.get("client")
    return Head(
        scope["method"],
        path,
        scope.get("query_string", b"").decode("latin-1"),
        headers,
        int(length) if length is not None and is_number else None,
        peer[0] if peer else "",
        scope.get("scheme") == "https",
        scope.get("http_version") == "1.0",
    )
