"""Mutants: deliberate faults, each a small unified diff with a head of its own, applied to a copy of the sources.

A hunk is found by its lines and not by its numbers, so that a change elsewhere in the file does not disturb it; it has
to be found exactly once, so that it cannot land in the wrong place.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).resolve().parent


class PatchError(Exception):
    """A patch that does not fit the sources any more, or has no proper head."""


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    breaks: str
    """One sentence: what is wrong with it, and what that costs."""
    promise: str
    """The invariant of ARCHITECTURE.md that it breaks."""
    kills: tuple[str, ...]
    """Tests that have to notice, every one of them."""
    diff: str

    def changed(self, sources: Path) -> Mapping[str, str]:
        """The files that it changes, as they are then, by their path below `sources`."""
        return {name: _changed(sources / name, hunks) for name, hunks in _files(self.diff)}

    def copy(self, sources: Path, to: Path) -> None:
        """The sources with this fault in them."""
        shutil.copytree(sources, to, ignore=shutil.ignore_patterns("__pycache__"))
        for name, text in self.changed(sources).items():
            (to / name).write_text(text)


def mutants() -> list[Mutant]:
    return [read(file) for file in sorted(FOLDER.glob("*.patch"))]


def read(file: Path) -> Mutant:
    head, mark, diff = file.read_text().partition("\n--- ")
    sentence, *lines = head.strip().splitlines()
    fields = [line.partition(": ") for line in lines if line]
    promises = [value for name, _, value in fields if name == "promise"]
    kills = tuple(value for name, _, value in fields if name == "kills")
    if not mark or len(promises) != 1 or not kills or len(promises) + len(kills) != len(fields):
        raise PatchError(f"{file.name}: its head is a sentence, one `promise:` and one or more `kills:`")
    return Mutant(file.stem, sentence, promises[0], kills, f"--- {diff}")


def _files(diff: str) -> Iterator[tuple[str, list[str]]]:
    for part in re.split(r"^--- ", diff, flags=re.MULTILINE)[1:]:
        names, *hunks = re.split(r"^@@.*\n", part, flags=re.MULTILINE)
        found = re.search(r"^\+\+\+ b/src/(\S+)$", names, re.MULTILINE)
        if found is None:
            raise PatchError(f"no file below src is named in {names!r}")
        yield found[1], hunks


def _changed(file: Path, hunks: list[str]) -> str:
    text = file.read_text()
    for hunk in hunks:
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        if text.count(before) != 1:
            raise PatchError(f"{file.name}: these lines are there {text.count(before)} times, not once:\n{before}")
        text = text.replace(before, after)
    return text
