"""Landfast's lines in the log of a host: always with time, level and name, and never twice."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SAY = """
import logging, logging.config
from landfast import telemetry
from landfast.app.host_log import show_lines
{before}
show_lines()
show_lines()
{after}
telemetry.info_each("stored", [{{"event": "1"}}, {{"event": "2"}}])
telemetry.warn("unhandled", event="3")
"""
UVICORN = "from uvicorn.config import LOGGING_CONFIG; logging.config.dictConfig(LOGGING_CONFIG)"
OWN = "logging.basicConfig(format='HOST %(name)s %(message)s', level=logging.WARNING)"


def said(tmp_path: Path, *, before: str = "", after: str = "") -> list[str]:
    ended = subprocess.run(
        [sys.executable, "-c", SAY.format(before=before, after=after)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert not ended.stdout
    return ended.stderr.splitlines()


def test_under_uvicorn_each_line_has_its_time_level_and_name(tmp_path: Path) -> None:
    lines = said(tmp_path, before=UVICORN)
    assert [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z ", "", line) for line in lines] == [
        "INFO    landfast  stored event=1",
        "INFO    landfast  stored event=2",
        "WARNING landfast  unhandled event=3",
    ]
    assert not [line for line in lines if not line.startswith("20")]


def test_a_host_that_has_set_up_logging_decides(tmp_path: Path) -> None:
    assert said(tmp_path, before=OWN) == ["HOST landfast unhandled event=3"]
    assert said(tmp_path, before="logging.getLogger('landfast').setLevel(logging.ERROR)") == []


def test_a_host_that_sets_up_logging_later_hears_each_line_once(tmp_path: Path) -> None:
    assert said(tmp_path, after=OWN)[-1:] == ["HOST landfast unhandled event=3"]
    assert len([line for line in said(tmp_path, after=OWN) if "unhandled" in line]) == 1
