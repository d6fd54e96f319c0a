"""Runs that went wrong, kept for ever: the history that the harness wrote, the books, and what the checker said."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from landfast.domain.outcome import Outcome
from tests.crash.checker import Books, Staged, Stored, check
from tests.crash.history import Line

FOLDER = Path(__file__).parent / "histories"
"""What `keep` writes belongs into the repository, with the bug's cause in the message of the commit."""

AT_MOST = 20
"""Problems whose events are kept: a run that goes wrong may have thousands of one kind."""

BESIDE = 20
"""Events kept with those that have a problem: for whoever wants to compare."""


class Kept(msgspec.Struct):
    seed: int
    problems: list[str]
    lines: list[Line]
    events: dict[str, Stored]
    receipts: list[tuple[str, str, int, Outcome]]
    writes: list[tuple[str, str, int, int]]
    effects: list[Staged]

    @property
    def books(self) -> Books:
        receipts = {(key, handler, run): outcome for key, handler, run, outcome in self.receipts}
        writes = Counter({(key, handler, run): count for key, handler, run, count in self.writes})
        return Books(self.events, receipts, writes, self.effects)


def keep(seed: int, problems: Sequence[str], lines: Sequence[Line], books: Books) -> Path:
    """Of some events with a problem, and of a few others, everything."""
    words = {word.strip(",") for problem in problems[:AT_MOST] for word in problem.split()}
    known = {line.key for line in lines if line.op == "deliver"} | books.events.keys()
    of_effects = {staged.effect: staged.key for staged in books.effects} | {
        line.effect: line.key for line in lines if line.effect
    }
    wanted = {*(known & words), *(of_effects[word] for word in words & of_effects.keys()), *sorted(known)[:BESIDE]}
    kept = Kept(
        seed=seed,
        problems=[],
        lines=[line for line in lines if line.key in wanted or line.op == "fault"],
        events={key: event for key, event in books.events.items() if key in wanted},
        receipts=[(*at, outcome) for at, outcome in books.receipts.items() if at[0] in wanted],
        writes=[(*at, count) for at, count in books.writes.items() if at[0] in wanted],
        effects=[staged for staged in books.effects if staged.key in wanted],
    )
    kept.problems = check(kept.lines, kept.books)
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"seed-{seed}.json.gz"
    path.write_bytes(gzip.compress(msgspec.json.encode(kept), mtime=0))
    return path


def read(path: Path) -> Kept:
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=Kept)
