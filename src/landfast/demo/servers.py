"""The two shops as real processes: `landfast serve`, and the naive one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from landfast.processes.supervision.child import Child

STARTS_WITHIN = 120.0
"""Seconds: under one alone; a machine that is busy with everything else is given more."""


class Serve:
    """A `landfast serve` on a free port, in a folder of its own, and what it says about its processes."""

    def __init__(self, child: Child, log: Path) -> None:
        self._child = child
        self._log = log
        self._news = asyncio.Event()
        self._listening = asyncio.create_task(self._listen())
        self.is_up = False
        self.port = 0
        """Where it listens; 0 where it has no intake."""
        self.processes: dict[int, str] = {}
        """The role of each that is ready, by pid."""
        self.deaths: dict[int, tuple[str, int | None]] = {}
        """The role and the exit code of each that has ended, by pid."""

    @classmethod
    async def start(
        cls, app: str, folder: Path, *, env: Mapping[str, str], options: Sequence[str] = (), port: int = 0
    ) -> Serve:
        """Return when it is ready. What it logs goes to `serve.log`."""
        log = folder / "serve.log"
        with log.open("ab") as stderr:
            command = ["serve", app, "--port", str(port), "--json", *options]
            child = await Child.start(command, cwd=folder, env=env, stdout=PIPE, stderr=stderr)
        serve = cls(child, log)
        try:
            await serve.until(lambda: serve.is_up)
        except BaseException:
            await serve.kill()
            raise
        return serve

    @property
    def pid(self) -> int:
        return self._child.pid

    def pids(self, role: str) -> list[int]:
        return [pid for pid, known in self.processes.items() if known == role]

    async def worker(self, *, other_than: int = 0) -> int:
        """The pid of a worker that is ready."""
        await self.until(lambda: any(pid != other_than for pid in self.pids("worker")))
        return next(pid for pid in self.pids("worker") if pid != other_than)

    async def until(self, condition: Callable[[], bool], *, within: float = STARTS_WITHIN) -> None:
        """Wait for news that makes it true; EOFError when none can come any more."""
        async with asyncio.timeout(within):
            while not condition():
                if self._listening.done():
                    last = self._log.read_text("utf-8", "replace").splitlines()[-5:]
                    raise EOFError("\n".join(["landfast serve has ended; its last words:", *last]))
                await self._news.wait()

    async def stop(self) -> int:
        """In order; the exit code."""
        self._child.dismiss()
        return await self.wait()

    async def wait(self) -> int:
        """Until it has ended by itself; the exit code."""
        code = await self._child.wait()
        self._child.close()
        await self._listening
        return code

    async def kill(self) -> None:
        """Everything at once, the way a power cut would: supervisor, intakes and workers."""
        for pid in [self.pid, *self.processes]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await self._child.wait()
        self._child.close()
        await self._listening  # its output ends when the last of its processes has

    async def _listen(self) -> None:
        assert self._child.stdout is not None  # noqa: S101 - asked for in `start`
        async for line in self._child.stdout:
            news = json.loads(line)
            if "ready" in news:
                self.is_up, self.port = True, news.get("port", 0)
            elif news["state"] == "ready":
                self.processes[news["pid"]] = news["process"]
            elif news["state"] == "ended":
                self.processes.pop(news["pid"], None)
                self.deaths[news["pid"]] = news["process"], news.get("code")
            self._tell()
        self._listening.add_done_callback(lambda _: self._tell())

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class NaiveServer:
    """The naive shop; it ends when its input closes, so it cannot outlive us."""

    def __init__(self, process: Process, port: int) -> None:
        self._process = process
        self.port = port

    @classmethod
    async def start(cls, database: Path, *, env: Mapping[str, str]) -> NaiveServer:
        command = [sys.executable, "-P", "-m", "landfast.demo.naive", str(database)]
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=env, process_group=0
        )
        assert process.stdout is not None  # noqa: S101 - asked for above
        async with asyncio.timeout(STARTS_WITHIN):
            return cls(process, int(await process.stdout.readline()))

    async def stop(self) -> None:
        assert self._process.stdin is not None  # noqa: S101 - asked for in `start`
        self._process.stdin.close()
        await self._process.wait()
