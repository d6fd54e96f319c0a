"""The command in this process: its exit code, what it printed, and a folder of its own to run in."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from landfast.cli import main


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ended]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("LANDFAST_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


@pytest.fixture
def landfast(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        code = main(arguments)
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return run
