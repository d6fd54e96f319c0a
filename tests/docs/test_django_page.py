"""docs/howto/django.md is played as it is written: files saved, commands typed, five deliveries, one order."""

from __future__ import annotations

import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks
from tests.free_port import free_port
from tests.patience import PATIENCE_SECONDS

PAGE = ROOT / "docs/howto/django.md"
SERVERS = ("python manage.py runserver", "python manage.py landfast work")
WITHIN = PATIENCE_SECONDS


class Reader:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.servers: list[subprocess.Popen[bytes]] = []
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("LANDFAST_")}
        self.env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def save(self, text: str) -> None:
        """Where its first line says; at the end of a file that is there, if it says so."""
        place, _, where = text.partition("\n")[0].removeprefix("# ").partition(", ")
        file = self.folder / place
        file.write_text((file.read_text() if where else "") + text)

    def type(self, command: str) -> None:
        if command.startswith("pip "):
            return  # the tests have both
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.env[name] = value
        elif command.startswith(SERVERS):
            self.serve(command)
        else:
            command = command.replace(":8000", f":{self.port}")
            ended = subprocess.run(
                ["sh", "-c", command], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0, (command, ended.stdout, ended.stderr)

    def serve(self, command: str) -> None:
        words = shlex.split(command) + ([str(self.port)] if "runserver" in command else [])
        with (self.folder / "servers.log").open("ab") as log:
            self.servers.append(
                subprocess.Popen(words, cwd=self.folder, env=self.env, stdout=log, stderr=log, start_new_session=True)
            )
        if "runserver" in command:
            self.until(self.is_up)

    def is_up(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/hooks/health", timeout=PATIENCE_SECONDS
            ) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def orders(self) -> int:
        with closing(sqlite3.connect(self.folder / "db.sqlite3")) as db:
            return int(db.execute("SELECT count(*) FROM shop_order").fetchone()[0])

    def until(self, look: object) -> None:
        deadline = time.monotonic() + WITHIN
        while not look():  # type: ignore[operator]
            assert time.monotonic() < deadline, (self.folder / "servers.log").read_text()
            time.sleep(0.05)

    def close(self) -> None:
        for server in self.servers:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    made = Reader(tmp_path)
    yield made
    made.close()


@pytest.mark.req("R13")
@pytest.mark.long
def test_the_page_leads_from_nothing_to_one_order(reader: Reader) -> None:
    for block in blocks(PAGE):
        if block.kind == "python":
            reader.save(block.text)
        for command in block.commands if block.kind == "console" else ():
            reader.type(command)
            if " send " in command:
                reader.until(lambda: reader.orders() > 0)
    assert reader.orders() == 1
    assert reader.servers
