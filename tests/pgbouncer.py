"""A real PgBouncer in transaction mode, in front of a PostgreSQL of the tests."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.free_port import free_port
from tests.servers import STARTS_WITHIN, Postgres

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

SETTINGS = """
[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 500
pidfile = {folder}/pid
logfile = {folder}/log
syslog = 0
server_round_robin = 1
"""
# Round robin: each transaction of a client goes to another session, so what outlives one is missed at once.


class PgBouncer:
    """On a free port; `size` server sessions for each database."""

    def __init__(self, postgres: Postgres, *, size: int = 8) -> None:
        self.port = free_port()
        self._postgres = postgres
        self._size = size
        self._folder = Path(tempfile.mkdtemp(prefix="landfast-pgbouncer-"))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        settings = SETTINGS.format(server=self._postgres.port, port=self.port, folder=self._folder, size=self._size)
        (self._folder / "ini").write_text(settings)
        (self._folder / "users").write_text('"postgres" ""\n')
        how: dict[str, Any] = {"start_new_session": True}
        if os.geteuid() == 0:  # it refuses to run as root
            how |= {"user": "nobody", "extra_groups": []}
            for path in (self._folder, *self._folder.iterdir()):
                shutil.chown(path, "nobody")
        assert PROGRAM is not None
        self._process = subprocess.Popen([PROGRAM, "-q", str(self._folder / "ini")], cwd="/", **how)
        deadline = time.monotonic() + STARTS_WITHIN
        while not self._is_ready():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError(f"PgBouncer did not start: {(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.02)

    def kill(self) -> None:
        """Without a word: whoever is connected is cut off, and the server rolls back what was open."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def destroy(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def dsn(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def _is_ready(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False
