"""The inbox inside a Flask application, under a real gunicorn."""

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

from landfast.demo.load import Connection, post
from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS
from tests.shops import ORDER, Shop, postgres_shop, sqlite_shop, until

FLASK = """
from flask import Flask
from werkzeug.middleware.dispatcher import DispatcherMiddleware

app = Flask("shop")

@app.get("/pid")
def pid():
    return str(os.getpid())

app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/hooks": inbox.wsgi(WORKERS)})
"""
INLINE, APART = 'workers="inline"', ""
SYNC, THREADS = ("--worker-class", "sync"), ("--worker-class", "gthread", "--threads", "16")


@asynccontextmanager
async def gunicorn(
    shop: Shop, *options: str, host: str = FLASK, workers: str = APART, parts: str = ORDER
) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    shop.write(parts, host.replace("WORKERS", workers))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            "shop:app",
            "--no-control-socket",
            "--bind",
            f"fd://{listener.fileno()}",
            *options,
        ]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=shop.folder, env=shop.env, stdout=PIPE, stderr=STDOUT, pass_fds=[listener.fileno()]
        )
        try:
            yield process, listener.getsockname()[1]
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()


@pytest.mark.parametrize(
    "options", [SYNC, THREADS, (*THREADS, "--workers", "2", "--preload")], ids=["sync", "gthread", "preload"]
)
async def test_under_gunicorn_events_are_stored_once_and_processed_elsewhere(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    async with gunicorn(shop, *options) as (process, port):
        connections = [Connection(port) for _ in range(4)]
        statuses = []
        for _ in range(4):
            requests = [shop.sender.delivery(shop.sender.payment(f"evt_{n % 2}")) for n in range(4)]
            moved = [request.replace(b"/in/stripe", b"/hooks/in/stripe", 1) for request in requests]
            pairs = zip(connections, moved, strict=True)
            statuses += await asyncio.gather(*(connection.send(request) for connection, request in pairs))
        assert set(statuses) == {200}
        assert await shop.count(State.READY) == 2
        for connection in connections:
            connection.close()
        async with shop.running("work", "shop.py"):
            await until(lambda: shop.count(State.DONE), 2)
        process.terminate()
        out, _ = await process.communicate()
    assert sorted(await shop.orders()) == ["evt_0", "evt_1"]
    assert process.returncode == 0 and b"Traceback" not in out, out.decode()


async def test_workers_may_run_inside_and_each_process_says_what_it_does(
    tmp_path: Path, migrated_database: str
) -> None:
    shop = postgres_shop(tmp_path, migrated_database)
    await shop.create_orders()
    async with gunicorn(shop, *THREADS, workers=INLINE) as (process, port):
        assert await _deliver(shop, port, "evt_1") == (200, "stored")
        assert await _deliver(shop, port, "evt_1") == (200, "duplicate")
        await until(lambda: shop.count(State.DONE), 1)
        process.terminate()
        out, _ = await process.communicate()
    assert await shop.orders() == ["evt_1"]
    line = next(line for line in out.decode().splitlines() if "stored source=stripe" in line)
    assert line[:2] == "20" and " INFO    landfast  stored " in line, line


async def test_answers_are_those_of_the_asgi_application(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    async with gunicorn(shop, *THREADS) as (_, port):
        body = shop.sender.payment("evt_1")
        good = shop.sender.delivery(body).replace(b"/in/stripe", b"/hooks/in/stripe", 1)
        head, _, sent = good.partition(b"\r\n\r\n")
        forged = head + b"\r\n\r\n" + sent.replace(b"8999", b"0001")
        signature = next(line for line in head.decode().split("\r\n") if line.lower().startswith("stripe-signature"))
        large = post("/hooks/in/stripe", {"stripe-signature": signature.partition(": ")[2]}, b"x" * 3_000_000)
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (sent[:7], sent[7:])) + b"0\r\n\r\n"
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
        chunked = b"\r\n".join([*lines, b"transfer-encoding: chunked", b"", b""]) + chunks
        wanted = {b"401 Unauthorized": forged, b"404 Not Found": good.replace(b"/in/stripe", b"/in/nobody", 1)}
        wanted |= {b"405 Method Not Allowed": b"GET /hooks/in/stripe HTTP/1.1\r\nhost: x\r\n\r\n"}
        wanted |= {b"413 Request Entity Too Large": large, b"200 OK": chunked}
        for status, request in wanted.items():
            answer = await _answer(port, request)
            assert answer.startswith(b"HTTP/1.1 " + status), (status, answer)
            assert b"x-content-type-options: nosniff" in answer.lower()
        assert b'"status":"duplicate"' in await _answer(port, good)
        assert b'{"ready":true,"inbox":"ok"}' in await _answer(port, b"GET /hooks/ready HTTP/1.1\r\nhost: x\r\n\r\n")


async def test_a_process_that_forks_after_its_first_request_opens_anew(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    shop.write(ORDER, FORKS)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "shop.py", cwd=shop.folder, env=shop.env, stdout=PIPE, stderr=STDOUT
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, _ = await process.communicate()
    told = [line.split() for line in out.decode().splitlines() if line.startswith("told")]
    assert sorted(told) == [
        ["told", "child", "200", "duplicate"],
        ["told", "child", "200", "stored"],
        ["told", "closed", "503", "-"],
        ["told", "parent", "200", "duplicate"],
        ["told", "parent", "200", "stored"],
    ], out.decode()
    assert process.returncode == 0


FORKS = """
import io, json, sys
from landfast.demo.sender import Sender

hooks, sender = inbox.wsgi(), Sender(os.environ["STRIPE_WEBHOOK_SECRET"])

def tell(who, event):
    head, _, body = sender.delivery(sender.payment(event)).partition(b"\\r\\n\\r\\n")
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/in/stripe", "wsgi.input": io.BytesIO(body), "QUERY_STRING": ""}
    for line in head.decode().split("\\r\\n")[1:]:
        name, _, value = line.partition(": ")
        environ[("" if name == "content-length" else "HTTP_") + name.upper().replace("-", "_")] = value
    environ["wsgi.url_scheme"] = "http"
    said = []
    answer = b"".join(hooks(environ, lambda status, headers: said.append(status[:3])))
    print("told", who, said[0], json.loads(answer).get("status", "-"), flush=True)

tell("parent", "evt_1")
if (pid := os.fork()) == 0:
    tell("child", "evt_1")
    tell("child", "evt_2")
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
tell("parent", "evt_2")
hooks.close()
tell("closed", "evt_3")
"""


SLOW = """
import landfast.inboxes.sqlite.record as record
record_one = record.Recording.record

async def slowly(self, deliveries):
    pathlib.Path(f"recording-{os.getpid()}").touch()
    while not pathlib.Path("open").exists():
        await asyncio.sleep(0.01)
    return await record_one(self, deliveries)

record.Recording.record = slowly
"""


async def test_who_waits_for_an_answer_when_the_server_is_told_to_stop_gets_it(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    async with gunicorn(shop, *THREADS, parts=SLOW + ORDER) as (process, port):
        waiting = [asyncio.create_task(_deliver(shop, port, f"evt_{n}")) for n in range(5)]
        await until(lambda: bool(list(tmp_path.glob("recording-*"))), True)
        process.terminate()
        await until(lambda: _takes_no_more(port), True)
        (tmp_path / "open").touch()
        answers = await asyncio.gather(*waiting)
        out, _ = await process.communicate()
    assert set(answers) == {(200, "stored")}, out.decode()
    assert await shop.count(State.READY) == 5
    async with shop.archive() as archive:
        census = await archive.census()
    # The last word of the intake was heard.
    assert (census.tallies["stripe"].received, census.running_boots, census.unclean_boots) == (5, 0, 0)


async def _takes_no_more(port: int) -> bool:
    """Whether its process has begun to stop: it then keeps no connection open."""
    answer = await _answer(port, b"GET /pid HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\n\r\n", patience=0.3)
    return not answer


async def _deliver(shop: Shop, port: int, event: str) -> tuple[int | None, str]:
    connection = Connection(port, patience=PATIENCE_SECONDS)
    try:
        request = shop.sender.delivery(shop.sender.payment(event)).replace(b"/in/stripe", b"/hooks/in/stripe", 1)
        status = await connection.send(request)
        return status, json.loads(connection.body or b"{}").get("status", "")
    finally:
        connection.close()


async def _answer(port: int, request: bytes, *, patience: float = PATIENCE_SECONDS) -> bytes:
    """Everything that comes back until the connection has been silent for a moment, or is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        async with asyncio.timeout(patience):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
            return head + await reader.readexactly(length)
    except (TimeoutError, EOFError, OSError):
        return b""
    finally:
        writer.close()
