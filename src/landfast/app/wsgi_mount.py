"""The inbox as a WSGI application inside somebody else's."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from landfast.app.loop_thread import Here, LoopThread
from landfast.app.mount import Mounted, turned_away
from landfast.web.asgi import Receive, Scope, headers_of
from landfast.web.wsgi import Environ, Exchange, StartResponse, WsgiApp, respond


class WsgiMounted:
    """The inbox as a WSGI application. In each process everything opens with the first request, on a loop in a thread
    of its own, and closes when the process ends; from then on the answer is 503."""

    def __init__(self, mount: Callable[[], Mounted]) -> None:
        self._thread = LoopThread(mount)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        here = self._thread.here()
        if here is None:
            return _turn_away(start_response)
        exchange = Exchange(environ)

        def work(scope: Scope, receive: Receive) -> Coroutine[Any, Any, None]:
            return here.made(scope, receive, exchange.send)

        try:
            exchange.run(work, here.loop)
        except (concurrent.futures.CancelledError, RuntimeError):
            # The process ends, and this request came too late: its sender comes again.
            if self._thread.here() is not None:
                raise
            return _turn_away(start_response)
        return exchange.respond(start_response)

    def at(self, prefix: str, rest: WsgiApp) -> WsgiApp:
        """An application that answers under `prefix` itself and leaves everything else to `rest`: for Django's
        `wsgi.py`, for `app.wsgi_app` of Flask, and for any other."""
        place = "/" + prefix.strip("/")

        def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
            path: str = environ.get("PATH_INFO", "")
            if path != place and not path.startswith(f"{place}/"):
                return rest(environ, start_response)
            inside = {"SCRIPT_NAME": environ.get("SCRIPT_NAME", "") + place, "PATH_INFO": path[len(place) :]}
            return self({**environ, **inside}, start_response)

        return application

    def here(self) -> Here[Mounted] | None:
        """The loop of this process and what is mounted there, for a host that can wait without a thread; None once it
        has closed."""
        return self._thread.here()

    def close(self) -> None:
        """Close in an orderly way now; by itself it does when the process ends."""
        self._thread.close()


def _turn_away(start_response: StartResponse) -> Iterable[bytes]:
    answer = turned_away()
    return respond(start_response, answer.status, headers_of(answer), answer.body)
