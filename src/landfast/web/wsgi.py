"""What WSGI servers and ASGI applications have to say to each other. The thread that a WSGI server gives to a request
reads and writes; a loop in another thread decides. So one code answers under both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, MutableMapping
from http import HTTPStatus
from queue import SimpleQueue
from typing import Any, TypeVar

from landfast.domain import answer as answers
from landfast.domain.errors import FramingError
from landfast.web.asgi import Message, Receive, Scope

T = TypeVar("T")
Environ = MutableMapping[str, Any]
StartResponse = Callable[..., Any]
WsgiApp = Callable[[Environ, StartResponse], Iterable[bytes]]

PIECE_BYTES = 64 * 1024
"""Read at a time. Nearly every webhook fits into one, and is then read before the loop is asked anything: to go from
thread to loop and back takes longer than to read it."""

HOP_BY_HOP = frozenset({b"connection"})
"""Not an application's to say (PEP 3333). The server closes what it does not want to keep."""

_LENGTH_REQUIRED = answers.error(411, "send a content-length", close=True)


class Exchange:
    """One request under a WSGI server, for the length of its call."""

    def __init__(self, environ: Environ) -> None:
        self._input = environ["wsgi.input"]
        self.scope = scope_of(environ)
        length = _length(environ)
        is_terminated = bool(environ.get("wsgi.input_terminated"))
        self._left = None if length is None and is_terminated else length or 0
        """Bytes of the body that are still to be read; None where the server tells its end."""
        self._has_no_end = length is None and not is_terminated and "HTTP_TRANSFER_ENCODING" in environ
        self._has_ended = False
        self._read_ahead: Message | None = None
        self._wanted: SimpleQueue[asyncio.Future[Message] | None] = SimpleQueue()
        self._status = 500
        self._headers: list[tuple[bytes, bytes]] = []
        self._body = b""

    def run(self, work: Callable[[Scope, Receive], Coroutine[Any, Any, T]], loop: asyncio.AbstractEventLoop) -> T:
        """What `work` returns, which runs on the loop, while this thread reads for it."""
        if self._left is not None and self._left <= PIECE_BYTES and not self._has_no_end:
            self._read_ahead = self._read()
        ended = asyncio.run_coroutine_threadsafe(work(self.scope, self._receive), loop)
        ended.add_done_callback(lambda _: self._wanted.put(None))
        while (asked := self._wanted.get()) is not None:
            loop.call_soon_threadsafe(_tell, asked, self._read())
        return ended.result()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], list(message["headers"])
        else:
            self._body += message.get("body", b"")

    def respond(self, start_response: StartResponse) -> Iterable[bytes]:
        """What the application has sent."""
        return respond(start_response, self._status, self._headers, self._body)

    async def _receive(self) -> Message:
        if self._has_no_end:
            raise FramingError("this server tells neither the length nor the end of the body", status=_LENGTH_REQUIRED)
        if self._read_ahead is not None:
            ahead, self._read_ahead = self._read_ahead, None
            return ahead
        asked: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._wanted.put(asked)
        return await asked

    def _read(self) -> Message:
        if self._has_ended:
            return {"type": "http.disconnect"}
        try:
            piece = self._input.read(PIECE_BYTES if self._left is None else min(PIECE_BYTES, self._left))
        except Exception:  # noqa: BLE001 - each server has errors of its own for a client that is gone or talks nonsense
            self._has_ended = True
            return {"type": "http.disconnect"}
        if self._left is not None:
            self._left -= len(piece)
        self._has_ended = not piece or self._left == 0
        return {"type": "http.request", "body": piece, "more_body": not self._has_ended}


def respond(
    start_response: StartResponse, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes
) -> Iterable[bytes]:
    told = [(name, value) for name, value in headers if name.lower() not in HOP_BY_HOP]
    start_response(status_line(status), [(name.decode("latin-1"), value.decode("latin-1")) for name, value in told])
    return [body]


def scope_of(environ: Environ) -> Scope:
    """The request as ASGI tells it. Its path is what comes after the place where we are mounted."""
    peer = environ.get("REMOTE_ADDR", "")
    return {
        "type": "http",
        "method": environ["REQUEST_METHOD"],
        "scheme": environ.get("wsgi.url_scheme", "http"),
        "http_version": environ.get("SERVER_PROTOCOL", "").removeprefix("HTTP/"),
        "path": environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace"),
        "query_string": environ.get("QUERY_STRING", "").encode("latin-1"),
        "headers": _headers(environ),
        "client": (peer, 0) if peer else None,
    }


def status_line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} Unknown"


def _headers(environ: Environ) -> list[tuple[bytes, bytes]]:
    """Each name once: a server joins the values of a repeated one by commas, and keeps their bytes."""
    named = [(name[5:], value) for name, value in environ.items() if name.startswith("HTTP_")]
    named += [(name, environ[name]) for name in ("CONTENT_TYPE", "CONTENT_LENGTH") if environ.get(name)]
    return [(name.replace("_", "-").lower().encode("latin-1"), value.encode("latin-1")) for name, value in named]


def _length(environ: Environ) -> int | None:
    length = environ.get("CONTENT_LENGTH") or ""
    return int(length) if length.isdecimal() and len(length) < 19 else None


def _tell(asked: asyncio.Future[Message], message: Message) -> None:
    if not asked.done():  # given up, because it came too slowly
        asked.set_result(message)
