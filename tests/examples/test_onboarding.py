"""The sign-up of examples/onboarding with a real HTTP sink, while its worker is killed inside every step."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copytree

import asyncpg
import pytest

from tests.patience import PATIENCE_SECONDS

WORKER = str(Path(__file__).with_name("onboarding_worker.py"))
ROOT = Path(__file__).resolve().parents[2]
STEPS = ("book_payment", "open_account", "send_welcome", "make_server", "report")
IS_LONG_RUN = int(os.environ.get("LANDFAST_CRASH_CYCLES", "0")) >= 400
SERVICES = ("bookings", "mails", "reports", "servers")


class Sink(ThreadingHTTPServer):
    """The services: each does a thing once for each key, and logs every request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.log: list[tuple[str, str, dict[str, object]]] = []
        """Service, key and data of each request."""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answer(BaseHTTPRequestHandler):
    server: Sink

    def do_POST(self) -> None:
        data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.log.append((self.path.strip("/"), self.headers["Idempotency-Key"], data))
        answer = json.dumps({"name": f"server-{data.get('account')}"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Not on the terminal."""


@pytest.fixture
def sink() -> Iterator[Sink]:
    made = Sink()
    yield made
    made.shutdown()
    made.server_close()


@pytest.mark.long
@pytest.mark.req("R30")
@pytest.mark.req("R22")
def test_a_worker_that_is_killed_inside_every_step_leaves_each_effect_once(tmp_path: Path, sink: Sink) -> None:
    shop = Shop(tmp_path, {"SERVICES": sink.address})
    shop.run(WORKER, "--deliver")
    for step in STEPS:
        assert shop.run(WORKER, step, check=False) == -signal.SIGKILL
    shop.run(WORKER)
    keys = {service: {key for name, key, _ in sink.log if name == service} for service in SERVICES}
    assert {service: len(found) for service, found in keys.items()} == dict.fromkeys(SERVICES, 1)
    times = Counter(name for name, _, _ in sink.log)
    assert times["bookings"] == times["reports"] == 2, "each was killed once, and none that was done is repeated"
    assert {times["mails"], times["servers"]} <= {2, 3}, "of two that run side by side, both are killed"
    assert sink.log[-1][2] == {"account": 1, "server": "server-1"}
    with closing(sqlite3.connect(shop.folder / "shop.db")) as db:
        assert db.execute("SELECT count(*) FROM accounts").fetchone() == (1,)
        assert db.execute("SELECT DISTINCT state FROM landfast_effect").fetchall() == [("done",)]
    shown = shop.shown("events", "show", "evt_1", "--graph", "--svg", "graph.svg", "--app", "shop.py")
    assert shown.splitlines() == [
        "run 1",
        "  book_payment: done",
        "  └─ open_account: done",
        "     ├─ send_welcome: done",
        "     │  └─ report (after send_welcome, open_account, make_server): done",
        "     └─ make_server: done",
        "drawn: graph.svg",
    ]
    assert (shop.folder / "graph.svg").read_text().count("<rect") == 5
    assert 'receipt  sign_up run 1: done, returned {"payment": "pi_1"}' in shop.shown("events", "show", "evt_1")


@pytest.mark.long
@pytest.mark.req("R30")
@pytest.mark.req("R22")
def test_the_same_with_the_ledger_in_postgresql(tmp_path: Path, sink: Sink, database: str) -> None:
    """Killed inside of the step that writes and of one that calls; in the long run (`make chaos`) inside of every one."""
    shop = Shop(tmp_path, {"SERVICES": sink.address})
    file = shop.folder / "shop.py"
    file.write_text(file.read_text().replace('ledger="shop.db"', f"ledger={database!r}"))
    number = "INTEGER GENERATED ALWAYS AS IDENTITY"
    asyncio.run(asked(database, f"CREATE TABLE accounts (id {number}, payment_id TEXT, event TEXT)"))
    shop.run(WORKER, "--deliver")
    killed = STEPS if IS_LONG_RUN else ("open_account", "make_server")
    for step in killed:
        assert shop.run(WORKER, step, check=False) == -signal.SIGKILL
    shop.run(WORKER)
    keys = {service: {key for name, key, _ in sink.log if name == service} for service in SERVICES}
    assert {service: len(found) for service, found in keys.items()} == dict.fromkeys(SERVICES, 1)
    times = Counter(name for name, _, _ in sink.log)
    assert times["bookings"] == 1 + ("book_payment" in killed)
    assert times["reports"] == 1 + ("report" in killed)
    assert asyncio.run(asked(database, "SELECT count(*) FROM accounts")) == [(1,)]
    assert asyncio.run(asked(database, "SELECT DISTINCT state FROM landfast_ledger.effect")) == [("done",)]


async def asked(database: str, query: str) -> list[tuple[object, ...]]:
    connection = await asyncpg.connect(database)
    try:
        return [tuple(row) for row in await connection.fetch(query)]
    finally:
        await connection.close()


class Shop:
    example = "onboarding"

    def __init__(self, tmp_path: Path, environment: dict[str, str]) -> None:
        self.folder = Path(copytree(ROOT / "examples" / self.example, tmp_path / self.example))
        secret = "whsec_" + "s" * 32
        path = os.pathsep.join([str(self.folder), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._environment = os.environ | {"STRIPE_WEBHOOK_SECRET": secret, "PYTHONPATH": path} | environment

    def run(self, *arguments: str, check: bool = True) -> int:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=self.folder, env=self._environment, check=False, timeout=PATIENCE_SECONDS)
        assert not check or done.returncode == 0, command
        return done.returncode

    def shown(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "landfast", *arguments]
        environment = self._environment | {"LANDFAST_APP": "shop.py", "NO_COLOR": "1"}
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            check=True,
            timeout=PATIENCE_SECONDS,
            capture_output=True,
            text=True,
        )
        return done.stdout
