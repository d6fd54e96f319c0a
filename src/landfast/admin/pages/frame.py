"""The frame around every page, and the templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from landfast.admin.access.sessions import COOKIE as SESSION_COOKIE
from landfast.admin.pages.ask import Ask
from landfast.admin.pages.drawn import is_wide
from landfast.admin.pages.filter_box import FilterError
from landfast.admin.pages.links import filter_of, link
from landfast.admin.pages.notice import notice_of
from landfast.admin.pages.page import Page
from landfast.admin.pages.reasons import reason
from landfast.admin.pages.sidebar import Sidebar
from landfast.admin.pages.static_files import VERSION
from landfast.admin.pages.where import where
from landfast.admin.pages.words import FILTERS

TEMPLATES = Path(__file__).parent.parent / "templates"
THEMES = ("light", "dark")
THEME_COOKIE = "landfast_theme"


def environment(*folders: Path) -> Environment:
    """What came from outside is text: everything is escaped. A name that is not there is an error, and no blank."""
    made = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(FILTERS, reason=reason, where=where, wide=is_wide)
    made.globals.update(link=link, filter_of=filter_of, version=VERSION)
    return made


TEMPLATE = environment()


def theme_of(request: Request) -> str:
    """What the user chose; empty for what the system says."""
    chosen = request.cookies.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


def html(
    page: Page,
    ask: Ask,
    sidebar: Sidebar,
    shown: Mapping[str, Any],
    *,
    terms: Sequence[str] = (),
    filter_error: FilterError | None = None,
    status: int = 200,
    for_all: bool = False,
) -> HTMLResponse:
    """`for_all`: for everybody with the same role, so that it says nothing of who asked."""
    request = ask.request
    root = str(request.scope.get("root_path", "")).rstrip("/")
    here = request.url.path.removeprefix(root) or "/"
    query = f"?{request.url.query}" if request.url.query else ""
    text = (
        (page.templates or TEMPLATE)
        .get_template(page.template or f"{page.name}.html")
        .render(
            {
                "heading": page.heading,
                "current": page.name,
                "root": root,
                "here": f"{here}{query}",
                "json_url": f"{root}{here if here != '/' else '/overview'}.json{query}",
                "stream": f"{root}/api/stream?only=beats" if page.is_live else "",
                "now": datetime.now(UTC),
                "theme": "" if for_all else theme_of(request),
                "operator": None if for_all else ask.operator,
                "can_sign_out": not for_all and SESSION_COOKIE in request.cookies,
                "navigation": sidebar.navigation(),
                "footnote": sidebar.footnote,
                "footnote_tone": sidebar.footnote_tone,
                "filter_action": page.filter_action,
                "filter_text": request.query_params.get("q", ""),
                "filter_terms": terms,
                "filter_error": filter_error,
                "notice": None if for_all else notice_of(request),
                "may_operate": ask.operator.role in ("operator", "admin"),
                "is_admin": ask.operator.role == "admin",
                **shown,
            }
        )
    )
    return HTMLResponse(text, status, {"cache-control": "no-store"})
