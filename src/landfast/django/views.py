"""The view that takes webhooks in, under ASGI and under WSGI. In each process the inbox lives on a loop of its own, in
a thread: Django tells nobody when its own loop begins and ends, and under WSGI it has none."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Callable, Iterable
from typing import Any

from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from landfast.app.mount import turned_away
from landfast.app.wsgi_mount import WsgiMounted
from landfast.django.discovery import find_inbox
from landfast.web.asgi import Message, headers_of
from landfast.web.wsgi import HOP_BY_HOP

Pairs = Iterable[tuple[bytes, bytes]]


class _Mount:
    """The project's inbox, mounted when the first request comes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mounted: WsgiMounted | None = None

    def __call__(self) -> WsgiMounted:
        with self._lock:
            if self._mounted is None:
                self._mounted = find_inbox().wsgi()
            return self._mounted

    def close(self) -> None:
        """What is in hand is answered; the next request opens it again. For tests."""
        with self._lock:
            mounted, self._mounted = self._mounted, None
        if mounted is not None:
            mounted.close()


mount = _Mount()


def _ours(view: Callable[..., Any]) -> Any:
    """A sender has no cookie, so it cannot be tricked into a request; and a transaction of Django's around the view
    would have SQLite's lock, which the inbox may wait for."""
    view._non_atomic_requests = set(connections)  # type: ignore[attr-defined]  # noqa: SLF001 - as Django's own decorator does for one alias
    return csrf_exempt(view)


@_ours
def receive_in_thread(request: HttpRequest, path: str) -> HttpResponse:
    """Under WSGI: the server's thread reads the body and waits, the loop decides."""
    told: list[Any] = []
    environ = {**request.environ, "PATH_INFO": f"/{path}"}
    if _has_been_read(request):
        environ["wsgi.input"] = io.BytesIO(request.body)
    body = b"".join(mount()(environ, lambda status, headers: told.extend((status, headers))))
    status, headers = told
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return _response(int(status.partition(" ")[0]), pairs, body)


@_ours
async def receive_on_loop(request: HttpRequest, path: str) -> HttpResponse:
    """Under ASGI: nothing of Django's waits in a thread. Django has read the whole body already."""
    here = mount().here()
    if here is None:
        answer = turned_away()
        return _response(answer.status, headers_of(answer), answer.body)
    body: bytes = request.body if _has_been_read(request) else request.read()
    told: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        told.append(message)

    query = request.META.get("QUERY_STRING", "").encode("latin-1", "replace")  # Django's test client has it as text
    scope = {**request.scope, "path": f"/{path}", "root_path": "", "query_string": query}
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(here.made(scope, receive, send), here.loop))
    start, *parts = told
    return _response(start["status"], start["headers"], b"".join(part.get("body", b"") for part in parts))


def _has_been_read(request: HttpRequest) -> bool:
    """By a middleware of the project's. `request.body` refuses what is larger than Django's own limit, and says so
    where somebody took the bytes and kept nothing."""
    return bool(getattr(request, "_read_started", False)) or hasattr(request, "_body")


def _response(status: int, headers: Pairs, body: bytes) -> HttpResponse:
    response = HttpResponse(body, status=status)
    for name, value in headers:
        if name.lower() not in HOP_BY_HOP:
            response[name.decode("latin-1")] = value.decode("latin-1")
    return response
