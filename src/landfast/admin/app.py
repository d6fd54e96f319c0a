"""The admin API as an ASGI application: the table of routes behind access."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as Path

from landfast.admin.access.guard import Access, Guard
from landfast.admin.access.headers import SecurityHeaders
from landfast.admin.access.sign_in import session_routes
from landfast.admin.desk import Desk
from landfast.admin.endpoint import endpoint
from landfast.admin.oidc.sign_in import oidc_routes
from landfast.admin.openapi import document
from landfast.admin.pages import site
from landfast.admin.problems import MEDIA_TYPE, AdminError, Problem, answer_of
from landfast.admin.pulse import Pulse
from landfast.admin.routes import ROUTES
from landfast.admin.stream import stream
from landfast.app import Inbox
from landfast.domain.errors import LandfastError


class Dashboard(Starlette):
    """The API and its pages. Starlette and FastAPI do not tell what they mount when they end: give them `lifespan`, or
    call `aclose`, so that the inbox is closed."""

    @asynccontextmanager
    async def lifespan(self, _host: object = None) -> AsyncIterator[None]:
        """For `FastAPI(lifespan=admin.lifespan)`, or to be entered in a lifespan of your own."""
        try:
            yield
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Safe twice. Whoever asks after it has the inbox opened anew."""
        await self.state.pulse.close()
        await self.state.desk.close()


Pages = Callable[[Desk], Sequence[BaseRoute]]


def make_app(
    inbox: Inbox,
    *,
    is_loopback: bool = False,
    pages: Pages | None = site.pages,
    reload: Callable[[], None] | None = None,
) -> Dashboard:
    """`is_loopback`: whether it is reached from this machine alone; then nobody needs a token as long as there is none.
    `pages` makes the routes of what people see; without them the API is there alone. `reload` has the server around it
    read its settings anew."""
    desk = Desk(inbox, reload)
    pulse = Pulse(desk)

    access = Access(desk, is_loopback=is_loopback)
    guard = Middleware(Guard, access=access, has_pages=pages is not None)
    routes: list[BaseRoute] = session_routes(access)
    if inbox.settings.oidc is not None:
        routes += oidc_routes(desk, access, inbox.settings.oidc)
    routes += [Path(route.path, endpoint(route, desk), methods=[route.method]) for route in ROUTES]
    middleware = [Middleware(SecurityHeaders), guard]
    routes += [Path("/api/stream", stream(pulse, access)), Path("/api/openapi.json", _openapi)]
    shown = pages(desk) if pages else ()
    app = Dashboard(routes=[*routes, *shown], lifespan=Dashboard.lifespan, middleware=middleware)
    app.add_exception_handler(HTTPException, _nothing_there)
    for kind in (AdminError, LandfastError):
        app.add_exception_handler(kind, _refused)
    app.state.desk, app.state.pulse = desk, pulse
    return app


async def _nothing_there(_request: Request, error: Exception) -> Response:
    """A path that is none, or another method than it has: a problem like any other."""
    assert isinstance(error, HTTPException)  # noqa: S101 - what it was registered for
    problem = Problem(
        status=error.status_code, title=error.detail, detail="there is no such path; see /api/openapi.json"
    )
    return Response(msgspec.json.encode(problem), error.status_code, error.headers, MEDIA_TYPE)


async def _refused(_request: Request, error: Exception) -> Response:
    """What a page or a form raised before it had anything to show: a form that is too long, a role that does not do."""
    return answer_of(error)


async def _openapi(_request: Request) -> Response:
    return Response(msgspec.json.encode(document()), media_type="application/json")
