"""The table of pages, as routes: each page, its JSON, and what belongs to all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from landfast.admin.access.guard import LOOK_HEADER, require
from landfast.admin.access.origin import own_path
from landfast.admin.desk import Desk
from landfast.admin.pages.ask import Ask, as_json, status_of
from landfast.admin.pages.commands import do, do_each, form_of
from landfast.admin.pages.filter_box import filter_error, terms
from landfast.admin.pages.frame import THEME_COOKIE, THEMES, html
from landfast.admin.pages.looks import Looks
from landfast.admin.pages.notice import take
from landfast.admin.pages.page import Page
from landfast.admin.pages.shared import Shared
from landfast.admin.pages.sidebar import Item, Sidebar
from landfast.admin.pages.sign_in import sign_in
from landfast.admin.pages.standing_proof import StandingProof
from landfast.admin.pages.static_files import YEAR_SECONDS, static
from landfast.admin.pages.table import PAGES
from landfast.domain.access import Role

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Site:
    """What all pages share."""

    desk: Desk
    sidebar: Sidebar
    answers: Shared
    proof: StandingProof
    looks: Looks

    def ask(self, request: Request) -> Ask:
        return Ask(self.desk, request, require(request, Role.VIEWER), self.answers, self.proof)


async def _no_questions(_ask: Ask) -> Mapping[str, Any]:
    return {}


NOTHING = Page("nothing", "/", "No such page", _no_questions, is_live=False)


def pages(desk: Desk, more: Sequence[Page] = (), commands: Sequence[BaseRoute] = ()) -> Sequence[BaseRoute]:
    """`more` and `commands` are not ours: the demo adds a page, and what its buttons do."""
    sidebar = Sidebar(desk, [Item(page.name, page.path, page.heading) for page in more])
    clock, live = desk.inbox.clock, desk.live
    site = Site(desk, sidebar, Shared(clock, live), StandingProof(desk), Looks(clock, live))
    routes: list[BaseRoute] = [
        *commands,
        Route("/static/{name}", static),
        Route("/theme", theme, methods=["POST"]),
        Route("/do/each/{path:path}", partial(do_each, desk=desk), methods=["POST"]),
        Route("/do/{path:path}", partial(do, desk=desk), methods=["POST"]),
        Route("/sign-in", sign_in),
    ]
    for page in (*more, *PAGES):
        as_page, as_data = (_shown(page, site, is_json=each) for each in (False, True))
        routes += [Route(f"{page.path if page.path != '/' else '/overview'}.json", as_data), Route(page.path, as_page)]
    return [*routes, Route("/{path:path}", _missing(site))]


def _missing(site: Site) -> Endpoint:
    """For a person who has mistyped an address; a program is told as the API tells."""

    async def missing(request: Request) -> Response:
        if request.path_params["path"].startswith("api/") or "text/html" not in request.headers.get("accept", ""):
            raise HTTPException(404)
        await site.sidebar.refresh()
        return html(NOTHING, site.ask(request), site.sidebar, {}, terms=terms(site.desk), status=404)

    return missing


def _shown(page: Page, site: Site, *, is_json: bool) -> Endpoint:
    async def shown(request: Request) -> Response:
        ask = site.ask(request)
        if is_json or _wants_json(request):
            parts = await page.gather(ask)
            return Response(as_json(parts), status_of(parts), media_type="application/json")
        if LOOK_HEADER in request.headers:
            if not page.is_live:
                raise HTTPException(400, "this page is drawn once, when somebody opens it")
            return await site.looks.get(ask, lambda: _drawn(page, site, ask, for_all=True))
        response = await _drawn(page, site, ask, for_all=False)
        take(response, request)
        return response

    return shown


async def _drawn(page: Page, site: Site, ask: Ask, *, for_all: bool) -> Response:
    parts = await page.gather(ask)
    await site.sidebar.refresh()
    return html(
        page,
        ask,
        site.sidebar,
        {**parts, **page.draw(parts, ask)},
        terms=terms(site.desk, site.sidebar.errors()),
        filter_error=filter_error(parts),
        status=status_of(parts),
        for_all=for_all,
    )


def _wants_json(request: Request) -> bool:
    accepts = request.headers.get("accept", "")
    return "application/json" in accepts and "text/html" not in accepts


async def theme(request: Request) -> Response:
    fields = await form_of(request)
    root = str(request.scope.get("root_path", "")).rstrip("/")
    response = RedirectResponse(f"{root}{own_path(fields.get('back', ['/'])[-1])}", 303)
    chosen = fields.get("theme", [""])[-1]
    if chosen in THEMES:
        response.set_cookie(THEME_COOKIE, chosen, max_age=YEAR_SECONDS, samesite="lax", httponly=True)
    else:
        response.delete_cookie(THEME_COOKIE)
    return response
