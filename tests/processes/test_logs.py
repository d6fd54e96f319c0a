from __future__ import annotations

import logging
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from landfast import telemetry
from landfast.processes import logs

NAMES = ("landfast", "asyncpg")


@pytest.fixture
def loggers() -> Iterator[None]:
    """As they were, afterwards."""
    before = [(logging.getLogger(name), [*logging.getLogger(name).handlers]) for name in NAMES]
    yield
    for logger, handlers in before:
        logger.handlers[:], logger.propagate = handlers, True
        logger.setLevel(logging.NOTSET)


def test_while_a_server_is_away_the_driver_logs_one_line_and_no_traceback(
    loggers: None, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.to_stderr("worker")
    try:
        raise ConnectionRefusedError("Connect call failed")
    except OSError:
        logging.getLogger("asyncpg.pool").warning("Failed to restore the pool connection %s", "floor", exc_info=True)
    (line,) = capsys.readouterr().err.splitlines()
    assert "WARNING worker" in line
    assert line.endswith("Failed to restore the pool connection floor (ConnectionRefusedError: Connect call failed)")


def test_a_time_in_the_log_is_utc_and_says_so(
    loggers: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        logs.to_stderr("worker")
        before = datetime.now(UTC).replace(microsecond=0)
        telemetry.info("resumed", count=1)
    finally:
        monkeypatch.undo()
        time.tzset()
    line = capsys.readouterr().err
    written = re.match(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.\d{3}Z ", line)
    assert written is not None, line
    at = datetime.fromisoformat(written[1]).replace(tzinfo=UTC)
    assert before <= at <= before + timedelta(seconds=60)


def test_detail_is_for_a_terminal_alone(
    loggers: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may be read by whoever must not see what a sender sent."""

    def told() -> str:
        telemetry.warn_in_detail("handler_failed", lambda: "line one\nKeyError: \x1b[2J'secret'", handler="h")
        return capsys.readouterr().err

    logs.to_stderr("worker")
    assert "secret" not in told()
    logging.getLogger("landfast").handlers.clear()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    logs.to_stderr("worker")
    first, *rest = told().splitlines()
    assert first.endswith("handler_failed handler=h")
    assert rest == ["    line one", "    KeyError: \\x1b[2J'secret'"]


def test_in_a_host_that_says_nothing_about_our_lines_they_look_the_same() -> None:
    code = (
        "from landfast import telemetry\n"
        "from landfast.app.host_log import show_lines\n"
        "show_lines()\n"
        "telemetry.info_each('resumed', [{'count': 1}, {'count': 2}])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = ended.stderr.splitlines()
    assert [line.rpartition("  ")[2] for line in lines] == ["resumed count=1", "resumed count=2"]
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z INFO ", line) for line in lines)
