"""Verification and dedup in front of routes that are there already: Starlette, Flask under gunicorn, Django."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from landfast import Event, Inbox, Transaction
from landfast.demo.load import Connection
from landfast.domain.errors import ConfigError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import Signal, State
from tests.patience import PATIENCE_SECONDS
from tests.shops import Shop, postgres_shop, sqlite_shop, until

ROUTE = """
def called(body, key):
    with open("calls.txt", "a") as calls:
        calls.write(f"{key}\\n")
    while pathlib.Path("wait").exists():
        threading.Event().wait(0.01)
    assert b"payment_intent" in body
    return int(pathlib.Path("status").read_text()) if pathlib.Path("status").exists() else 200

middleware = inbox.middleware({"/webhooks/stripe": "stripe"})
"""
STARLETTE = """
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse
from starlette.routing import Route

async def webhook(request):
    body = await request.body()
    status = await run_in_threadpool(called, body, request.scope["landfast.events"][0])
    if status == 599:
        raise RuntimeError("the shop is broken")
    return PlainTextResponse("the route's own words", status)

async def home(request):
    return PlainTextResponse("home")

app = Starlette(routes=[Route("/webhooks/stripe", webhook, methods=["POST"]), Route("/", home)])
app.add_middleware(middleware.asgi)
"""
FLASK = """
from flask import Flask, request

app = Flask("shop")

@app.post("/webhooks/stripe")
def webhook():
    status = called(request.get_data(), request.environ["landfast.events"][0])
    if status == 599:
        raise RuntimeError("the shop is broken")
    return "the route's own words", status

@app.get("/")
def home():
    return "home"

app.wsgi_app = middleware.wsgi(app.wsgi_app)
"""
DJANGO = """
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["*"], ROOT_URLCONF="shop", SECRET_KEY="x" * 50, MIDDLEWARE=[
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
    ],
)

@middleware.view("stripe")
def webhook(request):
    status = called(request.body, request.META["landfast.events"][0])
    if status == 599:
        raise RuntimeError("the shop is broken")
    return HttpResponse("the route's own words", status=status)

urlpatterns = [path("webhooks/stripe", webhook), path("", lambda request: HttpResponse("home"))]
app = get_wsgi_application()
"""
ASYNC_DJANGO = (
    DJANGO.replace("def webhook(request):", "async def webhook(request):")
    .replace("status = called(", "status = await asyncio.to_thread(called, ")
    .replace("wsgi", "asgi")
)
ATOMIC_DJANGO = DJANGO.replace(
    "ALLOWED_HOSTS",
    'DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db", "ATOMIC_REQUESTS": True}}, ALLOWED_HOSTS',
).replace(
    "    status = called(",
    """    from django.db import connection, transaction
    assert connection.in_atomic_block
    if pathlib.Path("fail").exists():
        transaction.on_commit(lambda: 1 / 0)
    status = called(""",
)
GUNICORN = (
    "gunicorn",
    "shop:app",
    "--worker-class",
    "gthread",
    "--threads",
    "16",
    "--workers",
    "2",
    "--bind",
    "fd://{fd}",
)
UVICORN = ("uvicorn", "shop:app", "--fd", "{fd}")
HOSTS = pytest.mark.parametrize(
    ("host", "server"),
    [(STARLETTE, UVICORN), (FLASK, GUNICORN), (DJANGO, GUNICORN), (ASYNC_DJANGO, UVICORN)],
    ids=["starlette", "flask", "django", "async django"],
)


class Site:
    def __init__(self, shop: Shop, process: asyncio.subprocess.Process, port: int) -> None:
        self.shop, self.process, self.port = shop, process, port

    async def post(self, request: bytes) -> tuple[int | None, bytes]:
        connection = Connection(self.port, patience=PATIENCE_SECONDS)
        try:
            return await connection.send(request), connection.body
        finally:
            connection.close()

    async def deliver(self, event: str = "evt_1") -> tuple[int | None, bytes]:
        return await self.post(self.request(event))

    def request(self, event: str) -> bytes:
        signed = self.shop.sender.delivery(self.shop.sender.payment(event))
        return signed.replace(b"/in/stripe", b"/webhooks/stripe", 1)

    def calls(self) -> list[str]:
        file = self.shop.folder / "calls.txt"
        return file.read_text().split() if file.exists() else []

    def answers(self, status: int) -> None:
        (self.shop.folder / "status").write_text(str(status))


@asynccontextmanager
async def site(shop: Shop, host: str, server: tuple[str, ...]) -> AsyncIterator[Site]:
    shop.write(ROUTE, host)
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        command = [part.format(fd=listener.fileno()) for part in server]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", *command),
            cwd=shop.folder,
            env=shop.env,
            stdout=PIPE,
            stderr=STDOUT,
            pass_fds=[listener.fileno()],
        )
        try:
            yield Site(shop, process, listener.getsockname()[1])
        finally:
            (shop.folder / "wait").unlink(missing_ok=True)
            if process.returncode is None:
                process.terminate()
            out, _ = await process.communicate()
            sys.stderr.write(out.decode())  # pytest shows it when the test fails


@HOSTS
@pytest.mark.req("R13")
async def test_a_storm_of_duplicates_at_two_servers_runs_the_route_once(
    tmp_path: Path, migrated_database: str, host: str, server: tuple[str, ...]
) -> None:
    shop = postgres_shop(tmp_path, migrated_database)
    async with site(shop, host, server) as here, site(shop, host, server) as there:
        await asyncio.gather(*(each.post(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n") for each in (here, there)))
        (tmp_path / "wait").touch()
        storm = [asyncio.create_task(each.deliver()) for each in (here, there) for _ in range(6)]
        await until(here.calls, ["evt_1"])
        (tmp_path / "wait").unlink()
        answers = await asyncio.gather(*storm)
        assert {status for status, _ in answers} == {200}
        assert sorted(b"own words" in body for _, body in answers) == [False] * 11 + [True]
        assert {(await each.deliver())[0] for each in (here, there) for _ in range(3)} == {200}
        assert here.calls() == ["evt_1"]
        assert await here.shop.count(State.DONE) == 1


@HOSTS
@pytest.mark.req("R13")
async def test_a_route_that_fails_is_called_again_when_the_sender_comes_again(
    tmp_path: Path, host: str, server: tuple[str, ...]
) -> None:
    async with site(sqlite_shop(tmp_path), host, server) as here:
        for failure in (500, 404, 302, 599):
            here.answers(failure)
            status, _ = await here.deliver()
            assert status == (500 if failure == 599 else failure)
            assert await here.shop.count(State.UNHANDLED) == 1
        here.answers(202)
        status, body = await here.deliver()
        assert (status, body) == (202, b"the route's own words")
        status, body = await here.deliver()
        assert (status, json.loads(body)["status"]) == (200, "duplicate")
        assert len(here.calls()) == 5
        async with here.shop.archive() as archive:
            (found,) = await archive.find(Filter(), limit=10)
            history = (await archive.show(found.event_id)).history
    signals = [line.signal for line in history]
    assert signals == [Signal.ADMIT, Signal.NO_HANDLER, *[Signal.REQUEUE, Signal.NO_HANDLER] * 3, *ENDED]
    assert [attempt.number for line in history for attempt in line.attempts] == [1, 2, 3, 4, 5]


ENDED = [Signal.REQUEUE, Signal.DISMISS]


@HOSTS
@pytest.mark.req("R1", "R13")
async def test_what_is_forged_never_reaches_the_route_and_all_other_paths_are_untouched(
    tmp_path: Path, host: str, server: tuple[str, ...]
) -> None:
    async with site(sqlite_shop(tmp_path), host, server) as here:
        good = here.request("evt_1")
        head, _, body = good.partition(b"\r\n\r\n")
        unsigned = b"\r\n".join(line for line in head.split(b"\r\n") if b"signature" not in line.lower())
        forged = [head + b"\r\n\r\n" + body.replace(b"8999", b"0001"), unsigned + b"\r\n\r\n" + body]
        for request in forged:
            assert (await here.post(request))[0] == 401
        for other in (b"/webhooks/stripe%0A", b"//webhooks//stripe/", b"/x/webhooks/stripe"):
            elsewhere = forged[1].replace(b"/webhooks/stripe", other, 1)
            for request in (elsewhere, elsewhere.replace(b"\r\n", b"\r\nscript_name: /x\r\n", 1)):
                assert (await here.post(request))[0] != 200
        assert (await here.post(b"GET /webhooks/stripe HTTP/1.1\r\nhost: x\r\n\r\n"))[0] == 405
        assert await here.post(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n") == (200, b"home")
        assert here.calls() == []
        assert (await here.post(good))[0] == 200
        assert here.calls() == ["evt_1"]


async def test_a_process_that_dies_in_the_route_leaves_the_event_to_the_senders_next_try(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    shop.settings["LANDFAST_LEASE"] = "1"
    async with site(shop, STARLETTE, UVICORN) as here:
        (tmp_path / "wait").touch()
        dying = asyncio.create_task(here.deliver())
        await until(here.calls, ["evt_1"])
        here.process.kill()
        assert (await dying)[0] is None
    async with site(shop, STARLETTE, UVICORN) as here:

        async def status() -> int | None:
            return (await here.deliver())[0]

        await until(status, 200)
        assert here.calls() == ["evt_1", "evt_1"]
        assert await shop.count(State.DONE) == 1


async def test_a_twin_that_waits_too_long_is_told_to_come_again_at_whichever_server(
    tmp_path: Path, migrated_database: str
) -> None:
    shop = postgres_shop(tmp_path, migrated_database)
    async with site(shop, STARLETTE, UVICORN) as here, site(shop, STARLETTE, UVICORN) as there:
        (tmp_path / "wait").touch()
        first = asyncio.create_task(here.deliver())
        await until(here.calls, ["evt_1"])
        async with asyncio.timeout(PATIENCE_SECONDS):
            twins = await asyncio.gather(here.deliver(), there.deliver())
        assert [status for status, _ in twins] == [503, 503]
        (tmp_path / "wait").unlink()
        assert (await first)[0] == 200
        assert here.calls() == ["evt_1"]


async def test_what_django_commits_after_a_view_belongs_to_it(tmp_path: Path) -> None:
    async with site(sqlite_shop(tmp_path), ATOMIC_DJANGO, GUNICORN) as here:
        (tmp_path / "fail").touch()
        assert (await here.deliver())[0] == 500
        assert await here.shop.count(State.UNHANDLED) == 1
        (tmp_path / "fail").unlink()
        assert (await here.deliver())[0] == 200
        assert await here.shop.count(State.DONE) == 1
        assert len(here.calls()) == 2


async def test_a_worker_of_the_same_inbox_leaves_its_events_alone(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    async with site(shop, STARLETTE, UVICORN) as here, shop.running("work", "shop.py"):
        here.answers(500)
        for number in range(5):
            assert (await here.deliver(f"evt_{number}"))[0] == 500
        here.answers(200)
        for number in range(5):
            assert (await here.deliver(f"evt_{number}"))[0] == 200
        assert sorted(here.calls()) == sorted([f"evt_{number}" for number in range(5)] * 2)
        assert await shop.count(State.DONE) == 5


@pytest.mark.parametrize(
    ("options", "source", "sentence"),
    [
        ({}, "strip", "middleware: there is no source 'strip'; did you mean 'stripe'?"),
        ({"unhandled": "done"}, "stripe", "middleware: source stripe must have neither ignore nor unhandled"),
        ({"ignore": ["a.*"]}, "stripe", "middleware: source stripe must have neither ignore nor unhandled"),
    ],
)
def test_a_source_that_a_worker_would_settle_is_refused(
    tmp_path: Path, options: dict[str, object], source: str, sentence: str
) -> None:
    (tmp_path / "none.toml").touch()
    inbox = Inbox(tmp_path / "none.toml")
    inbox.source("stripe", provider="stripe", secrets=["whsec_of_this_test_alone"], **options)
    with pytest.raises(ConfigError, match=sentence.replace("?", r"\?")):
        inbox.middleware({"/webhooks/stripe": source})


def test_a_source_has_a_route_or_handlers_and_not_both(tmp_path: Path) -> None:
    (tmp_path / "none.toml").touch()
    inbox = Inbox(tmp_path / "none.toml")
    inbox.source("stripe", provider="stripe", secrets=["whsec_of_this_test_alone"])

    @inbox.on("stripe", "*")
    async def create_order(event: Event, tx: Transaction) -> None: ...

    with pytest.raises(ConfigError, match="source stripe has the handler create_order"):
        inbox.middleware({"/webhooks/stripe": "stripe"})
