"""A small process that has imported everything and opened nothing: forking it makes a child in a millisecond or two.

python -m tests.crash.nursery, with a plan or a word on each line of its input, and an ending on each of its output.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import msgspec

from landfast.postgres_types import KnowingConnection
from tests.crash.life import live
from tests.crash.plans import Ending, Plan, Word
from tests.patience import PATIENCE_SECONDS

SECONDS = PATIENCE_SECONDS
"""No child may take longer; most take a twentieth of a second."""


class Nursery:
    """The end of it that the tests hold."""

    def __init__(self, log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.crash.nursery"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=Path(__file__).parents[2],
            )

    def run(self, plan: Plan) -> Ending:
        """Have a child live; how it ended, or that it stopped."""
        return self._ask(msgspec.json.encode(plan))

    def go_on(self, stopped: Ending) -> Ending:
        """Wake a child that stopped."""
        return self._ask(b"%d" % stopped.pid)

    def close(self) -> None:
        self._process.communicate(timeout=SECONDS)

    def log(self) -> str:
        return self._log.read_text()[-2000:]

    def _ask(self, what: bytes) -> Ending:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(what + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the nursery is gone: {self.log()}"
        return msgspec.json.decode(answer, type=Ending)


@contextmanager
def nursery(log: Path) -> Iterator[Nursery]:
    opened = Nursery(log)
    try:
        yield opened
    finally:
        opened.close()


def serve() -> None:
    gc.collect()
    gc.freeze()  # what is there already need not be looked at, and copied, by every child
    pipes: dict[int, int] = {}
    is_primed = False
    for line in sys.stdin.buffer:
        if line.startswith(b"{"):
            plan = msgspec.json.decode(line, type=Plan)
            if plan.store == "postgres" and not is_primed:
                asyncio.run(_learn_types(plan.dsn))
                is_primed = True
            pid, pipe = _bear(plan)
            pipes[pid] = pipe
        else:
            pid = int(line)
            os.kill(pid, signal.SIGCONT)
        sys.stdout.buffer.write(msgspec.json.encode(_wait(pid, pipes)) + b"\n")
        sys.stdout.buffer.flush()
    for pid in pipes:  # stopped, and forgotten by a test that failed
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


async def _learn_types(dsn: str) -> None:
    """Every child would ask the server for them, and that takes longer than to live."""
    connection = await asyncpg.connect(dsn, connection_class=KnowingConnection)
    await connection.fetchval("SELECT $1::bytea[]", [])
    await connection.close()


def _bear(plan: Plan) -> tuple[int, int]:
    """A child that lives by the plan: its process id, and the pipe that it speaks into."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    signal.alarm(int(SECONDS))
    code = 1
    try:
        live(plan, lambda word: _say(writer, word))
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the test hears of it and reads the log
        sys.excepthook(*sys.exc_info())
    sys.stderr.flush()
    os._exit(code)


def _wait(pid: int, pipes: dict[int, int]) -> Ending:
    _, status = os.waitpid(pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        return Ending(pid, "stopped")
    with os.fdopen(pipes.pop(pid), "rb") as pipe:
        words = [msgspec.json.decode(line, type=Word) for line in pipe]
    killed = os.WIFSIGNALED(status)
    code = os.WTERMSIG(status) if killed else os.WEXITSTATUS(status)
    return Ending(
        pid,
        "exited" if not killed else "hung" if code == signal.SIGALRM else "killed",
        code,
        fired="".join(word.fired for word in words),
        calls=words[-1].calls if words else {},
        problems=[problem for word in words for problem in word.problems],
        errors=[word.error for word in words if word.error],
        checked=sum(word.checked for word in words),
    )


def _say(writer: int, word: Word) -> None:
    os.write(writer, msgspec.json.encode(word) + b"\n")


if __name__ == "__main__":
    serve()
