"""What the harness saw: one JSON line for each operation that began, and one for how it ended, as far as is known.

Lines are appended with O_APPEND by every process of a run, before and after what they speak of. A process that dies
leaves operations that only began: nobody knows how those ended.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

IDS_OF_A_PROCESS = 10_000_000
"""More operations than one process begins in the longest run, so that no two processes use the same id."""

Phase = Literal["invoke", "ok", "fail", "unknown"]


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    op: str
    """deliver, replay, perform, crash or fault."""
    phase: Phase
    key: str
    """The event's; for a crash, the step that it happened at; for a fault, which."""
    cycle: int
    id: int = 0
    """Of the operation: the line that ends it has the same."""
    sha: str = ""
    """deliver: of the body that was sent."""
    forced: bool = False
    """replay: whether it was."""
    run: int = 0
    """perform: of the effect."""
    effect: str = ""
    """perform: the effect's own key."""


class History:
    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._count = 0

    def close(self) -> None:
        os.close(self._file)

    def write(self, line: Line) -> None:
        # One write of one line: lines of several processes do not mix, and what was written outlives us.
        os.write(self._file, msgspec.json.encode(line) + b"\n")

    def new_id(self) -> int:
        self._count += 1
        return os.getpid() * IDS_OF_A_PROCESS + self._count

    def read(self) -> list[Line]:
        return [msgspec.json.decode(line, type=Line) for line in self._path.read_bytes().splitlines()]


def unknown(lines: list[Line]) -> list[Line]:
    """What began and did not end, as lines that say so."""
    ended = {(line.op, line.id) for line in lines if line.phase != "invoke"}
    return [
        msgspec.structs.replace(line, phase="unknown")
        for line in lines
        if line.phase == "invoke" and (line.op, line.id) not in ended
    ]
