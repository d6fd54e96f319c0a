"""A demo in a terminal that a test types into."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE_SECONDS

COMMAND = (sys.executable, "-m", "landfast", "demo", "--deliveries", "500")
IN_TERMINAL = (
    sys.executable,
    "-c",
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])",
)
"""Makes standard input the controlling terminal, so that Ctrl-C in it is a signal."""
WITHIN = PATIENCE_SECONDS
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self._screen = screen
        self._unread = ""

    def press(self, key: str) -> None:
        os.write(self._screen, key.encode())

    def expect(self, pattern: str) -> str:
        """Read on until the pattern appears, and return it; what came before it is forgotten."""
        deadline = time.monotonic() + WITHIN
        while not (found := re.search(pattern, self._unread)):
            assert time.monotonic() < deadline, self._unread
            assert self._read(), self._unread
        self._unread = self._unread[found.end() :]
        return found[0]

    def wait(self) -> int:
        while self._read():
            pass
        return self.process.wait(WITHIN)

    def _read(self) -> bool:
        if select.select([self._screen], [], [], WITHIN)[0]:
            try:
                text = os.read(self._screen, 65536).decode("utf-8", "replace")
            except OSError:  # Linux's way to say that the other end is closed
                return False
            self._unread += ESCAPES.sub("", text).replace("\r\n", "\n")
            return True
        return False


@contextmanager
def terminal(folder: Path, *, options: tuple[str, ...] = ("--no-browser",), **more: str) -> Iterator[Terminal]:
    screen, theirs = pty.openpty()
    env = environment(folder) | {"TERM": "xterm", "COLUMNS": "200", "LINES": "50"} | more
    process = subprocess.Popen((*IN_TERMINAL, *COMMAND, *options), env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        yield Terminal(process, screen)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(WITHIN)
        os.close(screen)


def environment(folder: Path) -> dict[str, str]:
    # LANDFAST_STORE: the demo must not storm what its user configured.
    return os.environ | {"TMPDIR": str(folder), "LANDFAST_STORE": "postgresql://nobody@127.0.0.1:1/none"}
