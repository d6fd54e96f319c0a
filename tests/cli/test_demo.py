"""`landfast demo`, with and without a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from landfast.cli.storm.naive import SCHEMA, handle_webhook
from landfast.cli.storm.sender import Sender

COMMAND = (sys.executable, "-m", "landfast", "demo", "--deliveries", "500")
IN_TERMINAL = (
    sys.executable,
    "-c",
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])",
)
"""Makes standard input the controlling terminal, so that Ctrl-C in it is a signal."""
WITHIN = 90.0
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.mark.req("R50", "R61")
def test_without_a_terminal_it_plays_the_storm_proves_it_and_exits_0(tmp_path: Path) -> None:
    ended = subprocess.run(
        COMMAND,
        env=_env(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("kill -9 ") == 3
    assert "naive handler: 500 orders     landfast: 1 order\n" in ended.stdout
    assert "received 500 = stored 1 + duplicate 499 + rejected 0      lost 0   doubled 0" in ended.stdout
    assert ended.stderr == ""
    assert list(tmp_path.iterdir()) == [], "its folder is thrown away"


def test_with_a_terminal_each_key_shows_what_happened(tmp_path: Path) -> None:
    with _terminal(tmp_path) as demo:
        demo.expect("q quit")
        for key, words in {
            "s": "sent evt_demo_1: 200 stored in .*; then create_order done: 2 orders",
            "d": "sent evt_demo_1 again: 200 duplicate in .*: 2 orders",
            "f": "401 signature not verified in .*: 2 orders",
            "c": "create_order retry after RuntimeError, create_order done: 3 orders",
            "k": "killed worker [0-9]+; worker [0-9]+ is ready .* 3 orders",
            "r": "replayed evt_demo_2 as run 2: no handler ran, each has its receipt: 3 orders",
            "?": "d send it again",
        }.items():
            demo.press(key)
            demo.expect(words)
        demo.press("q")
        assert demo.wait() == 0
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_no_process_and_no_folder_behind_and_exits_130(tmp_path: Path) -> None:
    with _terminal(tmp_path) as demo:
        demo.expect("the storm")
        demo.press("\x03")
        assert demo.wait() == 130
        assert _processes_in(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_the_demo_killed_outright_leaves_no_process_behind(tmp_path: Path) -> None:
    with _terminal(tmp_path) as demo:
        demo.expect("q quit")  # nothing is going on any more, so nothing trips over our closed pipe
        demo.process.kill()
        demo.wait()
        deadline = time.monotonic() + 30
        while _processes_in(tmp_path):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_the_naive_handler_makes_an_order_for_each_delivery(tmp_path: Path) -> None:
    sender = Sender("whsec_x")
    body = sender.payment()
    signature = next(
        line for line in sender.delivery(body).split(b"\r\n") if line.lower().startswith(b"stripe-signature")
    )
    header = signature.partition(b": ")[2].decode()
    with closing(sqlite3.connect(tmp_path / "naive.db")) as db:
        db.executescript(SCHEMA)
        for _ in range(3):
            with pytest.raises(sqlite3.OperationalError, match="processed_at"):
                handle_webhook(db, "whsec_x", header, body)
        assert db.execute("SELECT count(*) FROM orders").fetchone() == (3,)
        assert handle_webhook(db, "whsec_x", header, body + b" ") == 401


class Terminal:
    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self._screen = screen
        self._unread = ""

    def press(self, key: str) -> None:
        os.write(self._screen, key.encode())

    def expect(self, pattern: str) -> None:
        """Read on until the pattern appears; what came before it is forgotten."""
        deadline = time.monotonic() + WITHIN
        while not (found := re.search(pattern, self._unread)):
            assert time.monotonic() < deadline, self._unread
            assert self._read(), self._unread
        self._unread = self._unread[found.end() :]

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
def _terminal(folder: Path) -> Iterator[Terminal]:
    screen, theirs = pty.openpty()
    env = _env(folder) | {"TERM": "xterm", "COLUMNS": "200", "LINES": "50"}
    process = subprocess.Popen((*IN_TERMINAL, *COMMAND), env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        yield Terminal(process, screen)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(WITHIN)
        os.close(screen)


def _env(folder: Path) -> dict[str, str]:
    # LANDFAST_STORE: the demo must not storm what its user configured.
    return os.environ | {"TMPDIR": str(folder), "LANDFAST_STORE": "postgresql://nobody@127.0.0.1:1/none"}


def _processes_in(folder: Path) -> list[str]:
    """The command lines of processes whose current folder, or an argument, is below this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                where, what = (entry / "cwd").readlink(), (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(where).startswith(str(folder)) or str(folder).encode() in what:
                found.append(f"{entry.name} {what!r}")
    return found
