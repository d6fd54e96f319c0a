"""Verification and dedup in front of a route that is there already: ASGI, WSGI or a Django view."""

from __future__ import annotations

import asyncio
import concurrent.futures
import io
import posixpath
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from landfast.app import wiring
from landfast.app.loop_thread import Here, LoopThread
from landfast.app.mount import turned_away
from landfast.app.route_desk import ROUTE, RouteDesk, Turn
from landfast.app.sources import routed
from landfast.config import SourceSettings
from landfast.domain.answer import Answer
from landfast.domain.ids import WorkerId
from landfast.intake.receive import Intake
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.web.asgi import Application, Message, Receive, Scope, Send, headers_of, send_answer
from landfast.web.wsgi import Environ, Exchange, StartResponse, WsgiApp, respond

if TYPE_CHECKING:
    from landfast.app.inbox import Inbox as HostInbox

F = TypeVar("F", bound=Callable[..., Any])
OpenIntake = Callable[[Iterable[SourceSettings]], AbstractAsyncContextManager[Intake]]
EVENTS = "landfast.events"
"""Under this name the route finds the keys of the events that it was given, in its scope or environ."""


def in_front_of(inbox: HostInbox, routes: Mapping[str, str]) -> Middleware:
    """With the settings, sources and handlers of the user's inbox, as they are when they are needed."""
    middleware = Middleware(
        lambda sources: wiring.intake(inbox.settings, sources, inbox.clock, inbox.chance, hold=ROUTE),
        inbox.archive,
        lambda source: routed(source, inbox.sources, inbox.registry, inbox.settings.folder),
        clock=inbox.clock,
        chance=inbox.chance,
        lease=inbox.settings.lease,
    )
    for path, source in routes.items():
        middleware.at(path, source)
    return middleware


class Middleware:
    """Stands in front of routes of yours. A request reaches its route if its signature is right and its event is not
    done; the body is exact. What the route has answered with 2xx is done: whoever sends it again is told 200, and the
    route is not called. Any other answer, an exception or a crash leaves it open, and the sender's next try calls the
    route again. So the route runs at least once, and must bear a second run: its own writes are not in one transaction
    with ours. Only a handler (`inbox.on`) has that."""

    def __init__(
        self,
        open_intake: OpenIntake,
        open_inbox: Callable[[], AbstractAsyncContextManager[Inbox]],
        check: Callable[[str], SourceSettings],
        *,
        clock: Clock,
        chance: Chance,
        lease: float,
    ) -> None:
        self._check = check
        self._used: dict[str, SourceSettings] = {}
        self._routes: dict[str, str] = {}

        def desk() -> RouteDesk:
            for source in self._used:
                check(source)  # handlers may have been registered since
            intake = partial(open_intake, self._used.values())
            return RouteDesk(intake, open_inbox, worker=WorkerId(chance.bytes(8)), clock=clock, lease=lease)

        self._thread = LoopThread(desk)

    def at(self, path: str, source: str) -> None:
        """Stand at this path, too."""
        self._used[source] = self._check(source)
        self._routes[_plain(path)] = source

    @property
    def asgi(self) -> Callable[[Application], Application]:
        """For `app.add_middleware(middleware.asgi)` of FastAPI and Starlette, `Litestar(middleware=[middleware.asgi])`,
        or around any ASGI application."""
        # No method: Sentry's SDK sets an attribute on whatever is given to `add_middleware`, and a method takes none.
        return partial(self._around)

    def _around(self, app: Application) -> Application:
        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            source = None
            if scope["type"] == "http":
                source = self._source_at(scope.get("root_path", ""), scope["path"])
            if source is None:
                await app(scope, receive, send)
            else:
                await self._asgi(source, app, scope, receive, send)

        return guarded

    def wsgi(self, app: WsgiApp) -> WsgiApp:
        """For `app.wsgi_app = middleware.wsgi(app.wsgi_app)` of Flask, or around any WSGI application."""

        def guarded(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
            source = self._source_at(_text(environ.get("SCRIPT_NAME", "")), _text(environ.get("PATH_INFO", "")))
            if source is None:
                return app(environ, start_response)
            return self._wsgi(source, app, environ, start_response)

        return guarded

    def view(self, source: str) -> Callable[[F], F]:
        """For a Django view, `def` or `async def`; its path is the URLconf's. No CSRF token is asked for: the signature
        says more."""
        from landfast.app.django_view import guarded_view

        self._used[source] = self._check(source)
        return guarded_view(self, source)

    def close(self) -> None:
        """Close in an orderly way now; by itself it does when the process ends."""
        self._thread.close()

    def here(self) -> Here[RouteDesk] | None:
        """What there is in this process; None once it has closed."""
        return self._thread.here()

    def _source_at(self, root: str, path: str) -> str | None:
        """Of a request that any router may take to a route of ours. Some routers see the path with what an application
        is mounted under, some without it, and who sends a request may choose how it is spelled. To ask too often is a
        401 where there is nothing; to ask too seldom, and a stranger's request runs the route."""
        for spelled in (path, path.removeprefix(root), root + path):
            if (source := self._routes.get(_plain(spelled))) is not None:
                return source
        return None

    async def _asgi(self, source: str, app: Application, scope: Scope, receive: Receive, send: Send) -> None:
        if (here := self.here()) is None:
            await send_answer(send, turned_away())
            return
        entered = await enter(here, source, scope, _from(asyncio.get_running_loop(), receive))
        if isinstance(entered, Answer):
            await send_answer(send, entered)
            return
        answered: list[Message] = []
        status, began = None, time.monotonic()

        async def keep(message: Message) -> None:
            answered.append(message)

        try:
            # All of it before the sender hears a word: what an application does after its answer (a transaction that a
            # dependency commits) belongs to it, and may still fail.
            await app({**scope, EVENTS: keys_of(entered)}, _replay(entered.body, receive), keep)
            status = next((message["status"] for message in answered if "status" in message), None)
        finally:
            await leave(here, entered, status, began)
        for message in answered:
            await send(message)

    def _wsgi(self, source: str, app: WsgiApp, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if (here := self.here()) is None:
            return _told(start_response, turned_away())

        def work(scope: Scope, receive: Receive) -> Coroutine[Any, Any, Turn | Answer]:
            return here.made.enter(source, scope, receive)

        try:
            entered = Exchange(environ).run(work, here.loop)
        except (concurrent.futures.CancelledError, RuntimeError):
            if self.here() is not None:
                raise
            return _told(start_response, turned_away())
        if isinstance(entered, Answer):
            return _told(start_response, entered)
        body = {"wsgi.input": io.BytesIO(entered.body), "CONTENT_LENGTH": str(len(entered.body))}
        answer, status, began = _WsgiAnswer(), None, time.monotonic()
        try:
            answer.run(app, {**environ, **body, EVENTS: keys_of(entered)})
            status = answer.code
        finally:
            left(here, entered, status, began).result()
        start_response(*answer.start)
        return answer.body


class _WsgiAnswer:
    """What a WSGI application says, from its call to the end of its `close`."""

    def __init__(self) -> None:
        self.start: tuple[Any, ...] = ("500 Internal Server Error", [])
        self.body: list[bytes] = []

    @property
    def code(self) -> int:
        return int(str(self.start[0])[:3])

    def run(self, app: WsgiApp, environ: Environ) -> None:
        def start_response(*start: Any) -> Callable[[bytes], None]:
            self.start = start
            return self.body.append

        pieces = app(environ, start_response)
        try:
            self.body.extend(pieces)
        finally:
            if (close := getattr(pieces, "close", None)) is not None:
                close()


def keys_of(turn: Turn) -> tuple[str, ...]:
    return tuple(claim.key for claim in turn.claims)


async def enter(here: Here[RouteDesk], source: str, scope: Scope, receive: Receive) -> Turn | Answer:
    """For somebody on another loop than the desk's."""
    entering = asyncio.run_coroutine_threadsafe(here.made.enter(source, scope, receive), here.loop)
    try:
        return await asyncio.shield(asyncio.wrap_future(entering))
    except asyncio.CancelledError:
        entering.add_done_callback(partial(_give_back, here))  # or the event would be ours until the process ends
        raise


async def leave(here: Here[RouteDesk], turn: Turn, status: int | None, began: float) -> None:
    """The same; whoever is cancelled meanwhile does not cancel it."""
    await asyncio.shield(asyncio.wrap_future(left(here, turn, status, began)))


def left(here: Here[RouteDesk], turn: Turn, status: int | None, began: float) -> concurrent.futures.Future[None]:
    settling = here.made.leave(turn, status=status, milliseconds=(time.monotonic() - began) * 1000)
    return asyncio.run_coroutine_threadsafe(settling, here.loop)


def _give_back(here: Here[RouteDesk], entered: concurrent.futures.Future[Turn | Answer]) -> None:
    if entered.exception() is None and isinstance(turn := entered.result(), Turn):
        left(here, turn, None, time.monotonic())


def _plain(path: str) -> str:
    """As the most lenient router reads it. The `$` of Starlette's patterns matches before a last newline, too."""
    return "/" + posixpath.normpath("/" + path.strip("/\n")).strip("/")


def _text(path: str) -> str:
    """WSGI hands on bytes, each as a character."""
    return path.encode("latin-1", "replace").decode("utf-8", "replace")


def _told(start_response: StartResponse, answer: Answer) -> Iterable[bytes]:
    return respond(start_response, answer.status, headers_of(answer), answer.body)


def _from(loop: asyncio.AbstractEventLoop, receive: Receive) -> Receive:
    """The host's `receive`, for somebody on another loop than the host's."""

    async def received() -> Message:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_awaited(receive()), loop))

    return received


async def _awaited(waiting: Awaitable[Message]) -> Message:
    return await waiting


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read, and then whatever the server says."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return messages.pop() if messages else await receive()

    return received
