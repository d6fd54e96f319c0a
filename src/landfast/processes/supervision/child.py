"""One process of ours, seen from the supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from typing import Any

from landfast.processes.children.lifeline import READY, SUSPECTS

INTERPRETER = (sys.executable, "-P", "-m", "landfast")
"""A fresh interpreter, not a fork: nothing that the supervisor has open leaks into it. -P keeps a `click.py` in the
user's folder from being taken for ours; the loader adds that folder itself."""


class Child:
    """A process at the other end of a lifeline: it says once that it is ready, and a worker says that there are
    suspects. It stops when our end closes."""

    def __init__(self, process: Process, lifeline: socket.socket) -> None:
        self._process = process
        self._lifeline = lifeline
        self.is_ready = False
        self.is_dismissed = False
        """We asked it to stop; its end is no accident."""

    @classmethod
    async def start(
        cls,
        arguments: Sequence[str],
        *,
        listener: socket.socket | None = None,
        page: int | None = None,
        **settings: Any,
    ) -> Child:
        """`landfast` with these arguments; it counts in the page. `settings` go to `subprocess`."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        fds = [theirs.fileno()]
        command = [*INTERPRETER, *arguments, "--lifeline", str(theirs.fileno())]
        # Unbuffered: what a handler prints is seen when it prints it, and not lost when its worker is killed.
        env = {**(settings.pop("env", None) or os.environ), "PYTHONUNBUFFERED": "1"}
        if listener is not None:
            fds.append(listener.fileno())
            command += ["--fd", str(listener.fileno())]
        if page is not None:
            fds.append(page)
            command += ["--page", str(page)]
        try:
            # A session of its own: Ctrl-C reaches the supervisor alone, which then stops its children in order. (A
            # process group would do, but uvloop can start none.)
            process = await asyncio.create_subprocess_exec(
                *command, stdin=DEVNULL, pass_fds=fds, start_new_session=True, env=env, **settings
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(process, ours)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stdout(self) -> asyncio.StreamReader | None:
        return self._process.stdout

    async def wait_ready(self) -> bool:
        """False when it ended before it was ready."""
        self.is_ready = await self._hear() == READY
        return self.is_ready

    async def hear_of_suspects(self) -> bool:
        """True when it says, once it was ready, that there are suspects; False when it has ended."""
        return await self._hear() == SUSPECTS

    async def wait(self) -> int:
        """How it ended: its exit code, or minus the signal that ended it."""
        return await self._process.wait()

    def close(self) -> None:
        """Once it has ended, and nobody listens to it any more: the next process's lifeline gets the same number, and
        who still waited for this one would take that away from whoever waits for the next."""
        self._lifeline.close()

    async def _hear(self) -> bytes:
        """Its next word; nothing when it has ended."""
        try:
            return await asyncio.get_running_loop().sock_recv(self._lifeline, 1)
        except OSError:
            return b""

    def dismiss(self) -> None:
        self.is_dismissed = True
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        # Not by the process's own methods: they look first whether it has ended, and that look would take its exit code
        # away from the thread that waits for it.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)
