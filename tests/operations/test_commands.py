"""`landfast status`, `landfast rejected list` and `landfast doctor`, as they are typed."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from landfast.cli import INTERRUPTED, main
from tests.free_port import free_port
from tests.operations.floor import SECRET, Floor
from tests.patience import PATIENCE_SECONDS, Stopwatch
from tests.shops import ORDER, sqlite_shop

TOML = f"""
store = "landfast.db"
ledger = "ledger.db"
[sources.stripe]
provider = "stripe"
secrets = ["{SECRET}"]
"""

Typed = Callable[..., tuple[int, str]]


@pytest.fixture
async def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shop that took three events in, refused four requests, and processed nothing; its intake has left."""
    floor = Floor(tmp_path)
    async with floor.taking_in():
        await floor.send(3)
        await floor.send(4, secret="whsec_of_somebody_else_altogether")
        explained = "4 of 7 were refused in the last 10 minutes: no-secret-matches"  # some time after the refusals
        await floor.until(lambda found: found["requests to stripe"].found.startswith(explained))
    (tmp_path / "landfast.toml").write_text(TOML)
    (tmp_path / "landfast.toml").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def typed(folder: Path, capsys: pytest.CaptureFixture[str]) -> Typed:
    def type_(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main(words)
        return code, capsys.readouterr().out

    return type_


async def test_status_without_a_terminal_is_lines_with_tabs(typed: Typed) -> None:
    code, out = await asyncio.to_thread(typed, "status")
    assert code == 0
    assert re.match(r"Landfast at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, rates of the last 10 minutes\n", out)
    (row,) = [line.split("\t") for line in out.splitlines() if line.startswith("stripe\t")]
    assert row[2:5] == ["3", "0", "4"]
    assert row[8].startswith("no-secret-matches 4")
    assert "ready\t3\t" in out
    assert "\x1b" not in out


async def test_status_in_json_has_times_and_counts(typed: Typed) -> None:
    _, out = await asyncio.to_thread(typed, "status", "--json")
    told = json.loads(out)
    (source,) = told["sources"]
    assert (source["name"], source["stored"], source["rejected"]) == ("stripe", 3, 4)
    assert source["last_accepted"].endswith("+00:00")
    assert told["states"]["ready"] == {"count": 3, "or_more": False}
    assert [(one["source"], one["type"]) for one in told["waiting"]] == [("stripe", "payment_intent.succeeded")]


async def test_rejected_list_says_when_where_why_and_what_to_do(typed: Typed) -> None:
    code, out = await asyncio.to_thread(typed, "rejected", "list", "--source", "stripe")
    assert code == 0
    headings, *rows = [line.split("\t") for line in out.splitlines() if "\t" in line]
    assert headings == ["at", "source", "path", "address", "cause", "status", "count", "headers"]
    assert {(row[1], row[2], row[3], row[5]) for row in rows} == {("stripe", "/in/stripe", "127.0.0.1", "401")}
    assert sum(int(row[6]) for row in rows) == 4
    assert "no-secret-matches: copy the signing secret" in out
    assert "whsec" not in out and "evt_" not in out, "nothing that was sent, but names"
    _, out = await asyncio.to_thread(typed, "rejected", "list", "--json")
    assert "stripe-signature" in json.loads(out)["rejected"][0]["headers"]


@pytest.mark.req("R45")
async def test_the_doctor_exits_by_what_it_finds(typed: Typed) -> None:
    code, out = await asyncio.to_thread(typed, "doctor")
    assert code == 1, out
    assert "fail  workers: none is alive, and 3 events wait" in out
    assert "warn  requests to stripe: 4 of 7 were refused in the last 10 minutes: no-secret-matches" in out
    assert "warn  secrets: written out in the settings or the code: stripe (1)" in out
    assert "ok    signatures: a request that nobody signed is refused by every source" in out
    assert "ok    inbox write: a test write was committed" in out


@pytest.mark.req("R45")
async def test_strict_makes_warnings_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await Floor(tmp_path).inbox.migrate()
    (tmp_path / "landfast.toml").write_text(TOML)
    (tmp_path / "landfast.toml").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    assert await asyncio.to_thread(main, ["doctor"]) == 0
    assert await asyncio.to_thread(main, ["doctor", "--strict"]) == 1


def test_watching_draws_again_and_ends_with_ctrl_c(folder: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "LINES": "50"}
    command = [sys.executable, "-m", "landfast", "status", "--watch"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder)
    os.close(theirs)
    shown = b""
    while shown.count(b"Landfast at") < 2:
        shown += os.read(ours, 65536)
    process.send_signal(signal.SIGINT)
    while True:
        try:
            if not (more := os.read(ours, 65536)):
                break
            shown += more
        except OSError:  # how a terminal says that nobody is left
            break
    assert process.wait(PATIENCE_SECONDS) in (0, INTERRUPTED)
    os.close(ours)
    assert b"no-secret-matches" in shown
    assert b"Traceback" not in shown


async def test_a_server_that_runs_is_seen_with_its_processes(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    shop.write(ORDER)
    await shop.create_orders()
    async with shop.serving() as serve:
        assert await shop.send(serve, "evt_1") == 200
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                _, out, err = await shop.run("status", "--json", "--app", "shop.py")
                told = json.loads(out)
                if {one["role"] for one in told["processes"]} == {"intake", "worker"} and told["handlers"][0]["done"]:
                    break
        assert all(one["is_alive"] for one in told["processes"]), err
        addresses = {one["doing"]["address"] for one in told["processes"] if one["role"] == "intake"}
        assert [address.rpartition(":")[2] for address in addresses] == [str(serve.port)]
        assert {disk["what"] for disk in told["disks"]} == {"store", "ledger"}
        code, out, _ = await shop.run("doctor", "--app", "shop.py")
        assert code == 0, out
        assert "/ready: ready (inbox: ok)" in out
        assert "ok    workers: 1 alive" in out
        assert "ok    requests to stripe: 1 taken in and 0 refused in the last 10 minutes" in out


async def test_while_postgresql_is_away_the_doctor_says_so_at_once_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    (tmp_path / "landfast.toml").write_text(TOML.replace('store = "landfast.db"\nledger = "ledger.db"\n', ""))
    (tmp_path / "landfast.toml").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANDFAST_STORE", f"postgresql://postgres@127.0.0.1:{port}/shop")
    with Stopwatch() as watch:
        assert await asyncio.to_thread(main, ["doctor"]) == 1
    assert watch.seconds < 10
    out = capsys.readouterr().out
    assert f"fail  inbox: store (LANDFAST_STORE): 127.0.0.1:{port} does not answer" in out
    assert "write" not in out
    assert await asyncio.to_thread(main, ["status"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
