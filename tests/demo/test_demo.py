"""`landfast demo`, with and without a terminal."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from landfast.demo.naive import SCHEMA, handle_webhook
from landfast.demo.sender import Sender
from landfast.processes.children.lifeline import GRACE_SECONDS
from tests.demo.terminal import COMMAND, WITHIN, environment, terminal
from tests.patience import PATIENCE_SECONDS, Stopwatch

BROKEN = """
import sys
from landfast.cli import main
from landfast.demo import command as demo
demo.APP = "no_such_shop:inbox"
sys.exit(main(["demo"]))
"""


@pytest.mark.req("R50", "R61")
def test_without_a_terminal_it_plays_the_storm_proves_it_and_exits_0(tmp_path: Path) -> None:
    ended = subprocess.run(
        COMMAND,
        env=environment(tmp_path),
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
    with terminal(tmp_path) as demo:
        demo.expect("q quit")
        for key, words in {
            "s": "sent evt_demo_1: 200 stored in .*; then create_order done: 2 orders",
            "d": "sent evt_demo_1 again: 200 duplicate in .*: 2 orders",
            "f": "401 signature not verified in .*: 2 orders",
            "c": "create_order retry after RuntimeError, create_order done: 3 orders",
            "k": "killed worker [0-9]+; worker [0-9]+ is ready .* 3 orders",
            "r": "replayed evt_demo_2 as run 2: no handler ran, each has its receipt: 3 orders",
            "?": "r  replay the last event: .*\n  q  quit",
            "x": "no such key: 'x'; \\? explains them",
            "\x1b[A": r"no such key: '\\x1b\[A'",
        }.items():
            demo.press(key)
            demo.expect(words)
        demo.press("\x04")
        assert demo.wait() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_browser_that_can_be_opened_is_and_the_storm_waits_for_its_look(tmp_path: Path) -> None:
    """Port 8421 may be taken on this machine: then it is another one."""
    program = tmp_path.parent / f"{tmp_path.name}-browser"
    looks = "import sys, urllib.request as u; u.urlopen(sys.argv[1]).read()"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{looks}' \"$1\"\n")
    program.chmod(0o755)
    with terminal(tmp_path, options=(), BROWSER=f"{program} %s &") as demo:
        demo.expect(r"dashboard  http://127.0.0.1:[0-9]+/storm ")
        demo.expect("a browser is opening")
        demo.expect("the storm")
        demo.press("\x03")
        assert demo.wait() == 130


def test_ctrl_c_leaves_no_process_and_no_folder_behind_and_exits_130(tmp_path: Path) -> None:
    with terminal(tmp_path) as demo:
        demo.expect("the storm")
        with Stopwatch() as watch:
            demo.press("\x03")
            demo.expect("stopping ...")
            assert demo.wait() == 130
        assert watch.seconds < GRACE_SECONDS, "nobody waits for a handler whose order is thrown away"
        assert _processes_in(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_sigterm_stops_a_demo_in_the_background_where_sigint_is_ignored(tmp_path: Path) -> None:
    code = "import os, signal, sys; signal.signal(2, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    with subprocess.Popen(
        (sys.executable, "-c", code, *COMMAND),
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as demo:
        assert demo.stdout is not None
        while b"the storm" not in (line := demo.stdout.readline()):
            assert line, demo.communicate()
        demo.terminate()
        _, err = demo.communicate(timeout=WITHIN)
    assert (demo.returncode, err) == (143, b"")
    assert _processes_in(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_the_last_words_of_a_shop_that_failed_are_printed_line_by_line(tmp_path: Path) -> None:
    ended = subprocess.run(
        (sys.executable, "-c", BROKEN),
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    first, *last = ended.stderr.splitlines()
    assert (ended.returncode, first) == (
        2,
        "landfast: the demo could not go on: landfast serve has ended; its last words:",
    )
    assert "there is no module 'no_such_shop'" in last[-1]


def test_in_json_it_prints_only_what_it_came_to(tmp_path: Path) -> None:
    ended = subprocess.run(
        (*COMMAND, "--json"), env=environment(tmp_path), capture_output=True, text=True, timeout=WITHIN, check=False
    )
    assert ended.returncode == 0, ended.stderr
    shown = json.loads(ended.stdout)
    assert (shown["deliveries"], shown["naive_orders"], shown["orders"], len(shown["killed"])) == (500, 500, 1, 3)
    assert shown["proof"]["holds"]


def test_the_demo_killed_outright_leaves_no_process_behind(tmp_path: Path) -> None:
    with terminal(tmp_path) as demo:
        demo.expect("q quit")  # nothing is going on any more, so nothing trips over our closed pipe
        demo.process.kill()
        demo.wait()
        deadline = time.monotonic() + PATIENCE_SECONDS
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
