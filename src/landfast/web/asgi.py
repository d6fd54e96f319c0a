"""Intake as an ASGI application, to be mounted in FastAPI, Starlette, Litestar or Django, at any prefix."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from landfast.domain import answer as answers
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import BodyTooLargeError, FramingError, SenderError
from landfast.intake.answers import answer_to
from landfast.intake.receive import Admitted, Intake
from landfast.web.health import HEALTHY, asks_for_health
from landfast.web.http.responses import NO_CONTENT

BODY_SECONDS = 60.0
"""For the whole body: some servers never time a slow one out themselves."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_TOO_SLOW = answers.error(408, "request too slow", close=True)


def asgi_app(intake: Intake) -> Application:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            head = _head(scope)
            await _send(send, await _answer(intake, head, receive), is_head=head.method == "HEAD")

    return app


async def _live(receive: Receive, send: Send) -> None:
    """Nothing to start or stop here: whoever built the intake opens and closes its stores."""
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


async def _answer(intake: Intake, head: Head, receive: Receive) -> Answer:
    if asks_for_health(head):
        return HEALTHY
    try:
        admitted = intake.admit(head)
    except Exception as error:  # noqa: BLE001 - answered like any other, and logged where it was counted
        return answer_to(error)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _read_body(admitted, receive)
    except TimeoutError:
        return intake.refuse(admitted.source.name, FramingError("too slow", status=_TOO_SLOW))
    except SenderError as error:
        return intake.refuse(admitted.source.name, error)
    except BaseException:  # cancelled, or the server's own `receive` failed: it still ends as one of the three
        intake.refuse(admitted.source.name, FramingError("given up in the body"))
        raise
    return await intake.respond(admitted, body)


async def _read_body(admitted: Admitted, receive: Receive) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise FramingError("the connection was lost in the body")
        piece = message.get("body", b"")
        size += len(piece)
        if size > admitted.source.body_limit:
            raise BodyTooLargeError("more than the limit arrived")
        pieces.append(piece)
        if not message.get("more_body", False):
            break
    # Some servers end a body that was cut short like a whole one.
    if admitted.head.content_length not in {None, size}:
        raise FramingError("the body was cut short")
    return b"".join(pieces)


async def _send(send: Send, answer: Answer, *, is_head: bool) -> None:
    headers = list(answer.headers)
    if answer.status != NO_CONTENT:
        headers += [
            (b"content-type", answer.content_type),
            (b"content-length", b"%d" % len(answer.body)),
            (b"x-content-type-options", b"nosniff"),
        ]
    if answer.close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if is_head else answer.body})


def _head(scope: Scope) -> Head:
    path, prefix = scope["path"], scope.get("root_path", "")
    if prefix and path.startswith(prefix):
        path = path[len(prefix) :]
    headers = Headers(scope["headers"])
    length = headers.get(b"content-length")
    is_number = length is not None and length.isdigit() and len(length) < 19
    return Head(
        scope["method"],
        path,
        scope.get("query_string", b"").decode("latin-1"),
        headers,
        int(length) if length is not None and is_number else None,
    )
