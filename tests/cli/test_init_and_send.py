from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from landfast.app import load
from landfast.domain.delivery import Head, Headers
from tests.cli.conftest import Run

PAID = "payment_intent.succeeded"


class Door(ThreadingHTTPServer):
    """Answers 200 to whatever it is sent, and keeps it."""

    daemon_threads = True

    def __init__(self) -> None:
        self.requests: list[tuple[Head, bytes]] = []
        self.status = 200
        self.answer = b'{"status":"\x1b[2J"}'
        super().__init__(("127.0.0.1", 0), _Keeper)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Keeper(BaseHTTPRequestHandler):
    server: Door

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = Headers((name.encode(), value.encode()) for name, value in self.headers.items())
        self.server.requests.append((Head("POST", self.path, "", headers, len(body)), body))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *_arguments: object) -> None: ...


@pytest.fixture
def door() -> Iterator[Door]:
    with Door() as door:
        serving = Thread(target=door.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield door
        door.shutdown()
        serving.join()


def test_send_is_signed_so_that_the_intake_takes_it(landfast: Run, door: Door) -> None:
    landfast("init")
    ended = landfast("send", "stripe", PAID, "--url", door.url, "--times", "3", "--set", "data.object.amount=8999")
    assert ended.code == 0
    assert ended.out == '200 {"status":"\\x1b[2J"}\n' * 3

    async def take_in() -> list[bytes]:
        inbox = load("handlers:inbox")
        answers = []
        async with inbox.intake() as intake:
            for head, body in door.requests:
                answers.append((await intake.respond(intake.admit(head), body)).body[:20])
        return answers

    assert asyncio.run(take_in()) == [b'{"status":"stored","', b'{"status":"duplicate', b'{"status":"duplicate']
    assert b'"amount":8999' in door.requests[0][1]


def test_an_answer_without_a_body_is_told_as_one(landfast: Run, door: Door) -> None:
    landfast("init")
    door.answer = b""
    assert landfast("send", "stripe", PAID, "--url", door.url).out == "200 (empty answer)\n"


def test_the_url_is_a_base_or_the_address_of_the_source(landfast: Run, door: Door) -> None:
    landfast("init")
    for url in ("", "/", "/in/stripe", "/hooks", "/hooks/in/stripe/"):
        assert landfast("send", "stripe", PAID, "--url", door.url + url).code == 0
    paths = [head.path for head, _ in door.requests]
    assert paths == ["/in/stripe"] * 3 + ["/hooks/in/stripe"] * 2


def test_a_source_that_may_be_in_the_code_is_not_looked_for_in_vain(landfast: Run, folder: Path) -> None:
    hint = "no app was given: add --app module:inbox, or app = ... in landfast.toml"
    assert hint in landfast("send", "stripe", PAID).err
    assert hint in landfast("doctor").out
    (folder / "shop.py").write_text("from landfast import Inbox\ninbox = Inbox()\n")
    assert "no app" not in landfast("send", "stripe", PAID, "--app", "shop.py").err
    assert "no app" not in landfast("doctor", "--app", "shop.py").out


def test_every_send_is_another_event_unless_it_has_an_id(landfast: Run, door: Door) -> None:
    landfast("init")
    for more in ((), (), ("--id", "evt_1"), ("--id", "evt_1")):
        landfast("send", "stripe", PAID, "--url", door.url, *more)
    bodies = [body for _, body in door.requests]
    assert bodies[0] != bodies[1]
    assert bodies[2] == bodies[3]
    assert b'"id":"evt_1"' in bodies[2]


def test_a_refusal_is_exit_1(landfast: Run, door: Door) -> None:
    landfast("init")
    door.status = 401
    ended = landfast("send", "stripe", PAID, "--url", door.url, "--json")
    assert ended.code == 1
    assert ended.json[0]["status"] == 401


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("strip", PAID), "send: there is no source 'strip'; did you mean 'stripe'?"),
        (("zzz", PAID), "send: there is no source 'zzz'; there are: stripe"),
        (("stripe", PAID, "--set", "nonsense"), "send: --set 'nonsense' needs PATH=VALUE"),
        (("stripe", PAID, "--set", "id.x.y=1"), "send: --set id.x.y: only fields of objects can be set"),
        (("stripe", PAID, "--url", "ftp://x"), "send: --url 'ftp://x' must be http://HOST:PORT"),
        (("stripe", PAID, "--url", "http://127.0.0.1:1"), "send: nothing listens at http://127.0.0.1:1; start it with"),
        (("stripe", PAID, "--url", "http://nowhere.invalid"), "send: http://nowhere.invalid gave no answer"),
    ],
)
def test_a_mistake_is_one_sentence(landfast: Run, arguments: tuple[str, ...], sentence: str) -> None:
    landfast("init")
    ended = landfast("send", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"landfast: {sentence}")
