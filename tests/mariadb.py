"""A real MariaDB server for the tests, where this machine has one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pymysql

from tests.free_port import free_port
from tests.servers import STARTS_WITHIN

_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
PROGRAM = shutil.which("mariadbd", path=_PATH)
ABSENT = "mariadbd is not installed: apt-get install mariadb-server"

ROOM = 2**30
"""Bytes of memory without which it is on the disk."""

USER, PASSWORD = "shop", "hunter2"
"""Anybody is let in, with any password."""

_GUARD = """
"$@" & server=$!
if read -r _; then wait "$server"; else kill -KILL "$server"; wait "$server"; rm -rf "$0"; fi
"""
# A test run that is killed cannot stop its server. This shell does: it reads a pipe that ends with us.

SETTINGS = {
    "innodb-buffer-pool-size": "32M",
    "innodb-log-file-size": "32M",
    "innodb-file-per-table": "1",
    "max-connections": "200",
    "performance-schema": "0",
    "skip-name-resolve": "1",
    "skip-grant-tables": "1",
    "character-set-server": "latin1",  # not Landfast's: its tables say themselves what they need
}
# innodb_flush_log_at_trx_commit and innodb_doublewrite keep their defaults: Landfast refuses a server without them.


class MariaDb:
    """In a folder of its own, on a free port that it keeps over restarts, and on a unix socket."""

    def __init__(self) -> None:
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="landfast-mariadb-", dir=_fast_folder()))
        self._data = self._folder / "data"
        self._guard: subprocess.Popen[bytes] | None = None
        self._created = 0
        self._user = "nobody" if os.geteuid() == 0 else ""

    @property
    def socket(self) -> Path:
        return self._folder / "socket"

    def create(self) -> None:
        self._folder.chmod(0o755)
        (self._data / "mysql").mkdir(parents=True)  # empty: to install its tables takes longer than the tests do
        if self._user:
            for path in (self._folder, self._data, self._data / "mysql"):
                shutil.chown(path, self._user)
        self.start()

    def start(self, **settings: str) -> None:
        assert PROGRAM is not None
        given = {**SETTINGS, **{name.replace("_", "-"): value for name, value in settings.items()}}
        command = [
            *("sh", "-c", _GUARD, str(self._folder), PROGRAM, "--no-defaults", f"--datadir={self._data}"),
            *(f"--socket={self.socket}", "--bind-address=127.0.0.1", f"--port={self.port}"),
            *(f"--pid-file={self._folder / 'pid'}", *(f"--{name}={value}" for name, value in given.items())),
        ]
        with (self._folder / "log").open("wb") as log:
            self._guard = subprocess.Popen(
                command, cwd="/", stdin=subprocess.PIPE, stdout=log, stderr=log, **self._as_user()
            )
        deadline = time.monotonic() + STARTS_WITHIN
        while not self._is_ready():
            if time.monotonic() > deadline or self._guard.poll() is not None:
                raise RuntimeError(f"MariaDB did not start: {(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.02)

    def kill(self) -> None:
        """A crash without the power cut."""
        if self._guard is not None:
            with suppress(OSError, ValueError):
                os.kill(int((self._folder / "pid").read_text()), signal.SIGKILL)
            self._guard.communicate(b"stopped\n", timeout=STARTS_WITHIN)
            self._guard = None
            (self._folder / "pid").unlink(missing_ok=True)

    def destroy(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def new_database(self) -> str:
        self._created += 1
        name = f"test_{self._created}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def drop_database(self, name: str) -> None:
        self.execute(f"DROP DATABASE IF EXISTS {name}")

    def url(self, database: str, *, driver: str = "pymysql") -> str:
        return f"mysql+{driver}://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, *, database: str | None = None) -> list[tuple[Any, ...]]:
        """As the superuser, committed at once."""
        where: dict[str, Any] = {"unix_socket": str(self.socket), "user": "root", "database": database}
        with closing(pymysql.connect(**where, autocommit=True)) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def _is_ready(self) -> bool:
        return "ready for connections" in (self._folder / "log").read_text("utf-8", "replace")

    def _as_user(self) -> dict[str, Any]:
        # Its own session: Ctrl-C in the terminal must reach pytest, and not the server below it.
        settings: dict[str, Any] = {"start_new_session": True}
        return settings | {"user": self._user, "extra_groups": []} if self._user else settings


def _fast_folder() -> str | None:
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= ROOM
    return str(memory) if roomy else None
