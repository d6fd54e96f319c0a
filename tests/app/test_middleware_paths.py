"""A guard in front of a route stands there under every spelling of its path that the host's router takes for it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from flask import Flask
from litestar import Litestar
from litestar import post as litestar_post
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from landfast import Inbox
from landfast.app.middleware import Middleware
from landfast.web.asgi import Application, Message

pytestmark = pytest.mark.req("R1", "R13")

PATH = "/webhooks/stripe"
SPELLINGS = [
    PATH,
    f"{PATH}\n",
    f"{PATH}/",
    f"{PATH}/\n",
    f"/{PATH}",
    "/webhooks//stripe",
    "/webhooks/./stripe",
    "/x/../webhooks/stripe",
]
ROOTS = ["", "/api", "/api/v2"]


@pytest.fixture
def middleware(tmp_path: Path) -> Iterator[Middleware]:
    (tmp_path / "none.toml").touch()
    inbox = Inbox(tmp_path / "none.toml", store=f"sqlite:{tmp_path}/inbox.db", ledger=f"sqlite:{tmp_path}/ledger.db")
    inbox.source("stripe", provider="stripe", secrets=["whsec_of_this_test_alone_0123456789"])
    made = inbox.middleware({PATH: "stripe"})
    yield made
    made.close()


class Called(list[str]):
    """What the host's route was called for, which is nothing without a signature."""

    async def asgi(self, request: Request) -> PlainTextResponse:
        self.append(request.scope["path"])
        return PlainTextResponse("paid")

    def wsgi(self) -> str:
        self.append("wsgi")
        return "paid"


def starlette(called: Called) -> Application:
    return Starlette(routes=[Route(PATH, called.asgi, methods=["POST"])])


def fastapi(called: Called) -> Application:
    app = FastAPI()
    app.add_api_route(PATH, called.asgi, methods=["POST"])
    return app


def litestar(called: Called) -> Application:
    @litestar_post(PATH, sync_to_thread=False)
    def paid() -> str:
        return called.wsgi()

    return Litestar(route_handlers=[paid], openapi_config=None)  # type: ignore[return-value]


async def asked(app: Application, path: str, root: str) -> int:
    """The status that a stranger gets who signs nothing."""
    said: list[Message] = []
    came: list[Message] = [{"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive() -> Message:
        return came.pop() if came else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        said.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": root,
        "headers": [(b"host", b"shop.test"), (b"content-length", b"2")],
        "client": ("192.0.2.1", 1),
        "server": ("shop.test", 80),
        "app": app,
    }
    await app(scope, receive, send)
    return int(said[0]["status"])


@pytest.mark.parametrize("make", [starlette, fastapi, litestar])
@pytest.mark.parametrize("root", ROOTS)
async def test_no_spelling_walks_around_it_under_asgi(middleware: Middleware, make: Any, root: str) -> None:
    called = Called()
    guarded = middleware.asgi(make(called))
    for path in SPELLINGS:
        for spelled in (path, root + path):
            assert await asked(guarded, spelled, root) == 401, spelled
    assert called == []


async def test_no_mount_walks_around_it(middleware: Middleware) -> None:
    called = Called()
    site = Starlette(routes=[Mount("/api", middleware.asgi(starlette(called)))])
    for path in SPELLINGS:
        assert await asked(site, f"/api{path}", "") in (401, 404), path
    assert await asked(site, f"/api{PATH}", "") == 401
    assert called == []


@pytest.mark.parametrize("root", ROOTS)
def test_no_spelling_walks_around_it_under_wsgi(middleware: Middleware, root: str) -> None:
    called = Called()
    app = Flask("shop")
    app.post(PATH)(called.wsgi)
    guarded = middleware.wsgi(app.wsgi_app)  # type: ignore[arg-type]
    for path in SPELLINGS:
        assert wsgi_asked(guarded, path, root).startswith("401"), path
    assert called == []


def test_a_path_of_other_letters_is_guarded_as_it_is_written(middleware: Middleware) -> None:
    called = Called()
    app = Flask("shop")
    app.post("/grüße")(called.wsgi)
    middleware.at("/grüße", "stripe")
    guarded = middleware.wsgi(app.wsgi_app)  # type: ignore[arg-type]
    assert wsgi_asked(guarded, "/grüße".encode().decode("latin-1"), "").startswith("401")
    assert called == []


def wsgi_asked(app: Any, path: str, root: str) -> str:
    statuses: list[str] = []
    environ = {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": root,
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "shop.test",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_LENGTH": "2",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(b"{}"),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    b"".join(app(environ, lambda status, *_: statuses.append(status)))
    return statuses[0]
