"""The tutorial is played as it is written: files saved, commands run in a shell, and what they print compared."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from landfast.log_lines import LINES
from tests.free_port import free_port
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/tutorial.md").read_text("utf-8")
WITHIN = PATIENCE_SECONDS
"""Seconds for what other processes have to do; a busy machine starts a worker in twenty."""


class Player:
    """Two shells: one for the server, one for all other commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("LANDFAST_")}
        commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.env |= {"PATH": commands, "LANDFAST_PORT": str(self.port), "COLUMNS": "120"}
        self.server: subprocess.Popen[bytes] | None = None

    def play(self, command: str, wanted: list[str]) -> None:
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.env[name] = value
        elif command == "landfast serve":
            self.serve(wanted)
        else:
            self.run(command, wanted)

    def serve(self, wanted: list[str]) -> None:
        log = self.folder / "serve.log"
        with log.open("ab") as out:
            self.server = subprocess.Popen(
                ["landfast", "serve"], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        self.until(lambda: self.is_up() and not missing(wanted, log.read_text(), self.port), log.read_text)

    def is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=PATIENCE_SECONDS) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def run(self, command: str, wanted: list[str]) -> None:
        """Once more until it prints what it should, where it only looks: processing goes on meanwhile."""
        printed = ""

        def is_as_told() -> bool:
            nonlocal printed
            ended = subprocess.run(
                ["sh", "-c", command], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
            )
            printed = ended.stdout + ended.stderr
            return not missing(wanted, printed, self.port)

        if re.match(r"landfast (send|replay)\b", command):
            assert is_as_told(), printed
        else:
            self.until(is_as_told, lambda: f"{command}\n{printed}")

    def until(self, look: object, story: object) -> None:
        deadline = time.monotonic() + WITHIN
        while not look():  # type: ignore[operator]
            assert time.monotonic() < deadline, story()  # type: ignore[operator]
            time.sleep(0.05)

    def stop(self) -> None:
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)
            assert self.server.wait(WITHIN) == 0
            self.server = None

    def kill(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.wait()


def missing(wanted: list[str], printed: str, port: int) -> list[str]:
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    return [line for line in wanted if not any(re.match(pattern(line, port), one) for one in lines)]


def pattern(line: str, port: int) -> str:
    """Times may be others, `...` and `…` stand for anything, and what a terminal cuts off or sets in columns is free."""
    text = re.escape(" ".join(line.replace("8420", str(port)).split()))
    text = re.sub(r"\d{4}\\-\d\d\\-\d\d\\ \d\d:\d\d:\d\d", r"\\S+ \\S+", text)
    return text.replace(re.escape("..."), ".*").replace("…", r"\S*")


def blocks() -> list[tuple[str, str, str]]:
    """The paragraph before a block, its kind, and what is in it."""
    return re.findall(r"((?:[^\n]+\n)+)\n```(\w*)\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.long
def test_the_tutorial_goes_as_it_is_told(tmp_path: Path) -> None:
    player = Player(tmp_path)
    try:
        for before, kind, text in blocks():
            if name := re.search(r"[Ss]ave this as `([\w.]+)`", before):
                (tmp_path / name[1]).write_text(text)
            elif kind == "python":
                mend(tmp_path / "shop.py", text)
            elif kind == "console":
                for turn in re.split(r"^(?=\$ |\^C)", text, flags=re.MULTILINE)[1:]:
                    command, *wanted = turn.rstrip("\n").split("\n")
                    if command == "^C":
                        player.stop()
                    else:
                        player.play(command.removeprefix("$ "), wanted)
    finally:
        player.kill()
    assert (tmp_path / "serve.log").read_text().count("is confirmed") == 2
    tested = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), "test_shop.py"]
    ended = subprocess.run(tested, cwd=tmp_path, env=player.env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def mend(file: Path, line: str) -> None:
    """The line of the file that begins like this one becomes this one."""
    start = line.partition("payment.get")[0]
    assert file.read_text().count(start) == 1
    file.write_text(re.sub(rf"^{re.escape(start)}.*\n", line, file.read_text(), flags=re.MULTILINE))


def test_the_tutorial_leaves_no_block_unplayed() -> None:
    kinds = [kind for _, kind, _ in blocks()]
    assert len(kinds) == TEXT.count("```") // 2
    assert set(kinds) == {"", "toml", "python", "console"} and kinds.count("") == 2  # those that install


def test_the_lines_of_the_log_that_the_tutorial_names_are_written() -> None:
    story = re.search(r"The first shell tells the story: (.*?)\n\n", TEXT, re.DOTALL)
    assert story is not None
    named = [quoted.split()[0] for quoted in re.findall(r"`([^`]+)`", story[1]) if "=" not in quoted.split()[0]]
    assert len(named) == 3
    assert set(named) <= set(LINES)
