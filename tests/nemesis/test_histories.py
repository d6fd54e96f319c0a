"""Runs that went wrong are kept, and the checker finds their problems again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from landfast.domain.lifecycle import State
from tests.crash.checker import Books, Stored, check
from tests.crash.history import Line
from tests.crash.test_checker import good, lose, write_twice
from tests.nemesis import histories
from tests.nemesis.books import HANDLERS, needless_deaths
from tests.nemesis.exact import doubts_of, inexact
from tests.nemesis.verdict import Verdict


@pytest.mark.parametrize("path", sorted(histories.FOLDER.glob("*.json.gz")), ids=lambda path: path.name)
def test_the_checker_finds_again_what_was_wrong_in_a_run_that_is_kept(path: Path) -> None:
    kept = histories.read(path)
    assert kept.problems
    assert sorted(check(kept.lines, kept.books)) == sorted(kept.problems)


@pytest.mark.parametrize("wrong", [lose, write_twice])
def test_what_is_kept_has_the_same_problems_and_little_else(
    wrong: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "FOLDER", tmp_path)
    lines, books = good()
    wrong(lines, books)  # type: ignore[operator]
    lines += [Line("deliver", "invoke", f"another-{number}", 0, id=number + 100, sha="abc") for number in range(500)]
    lines.append(Line("fault", "ok", "kill_worker", 0))
    problems = check(lines, books)
    kept = histories.read(histories.keep(7, problems, lines, books))
    assert problems and sorted(check(kept.lines, kept.books)) == sorted(kept.problems) == sorted(problems)
    assert [line.key for line in kept.lines if line.op == "fault"] == ["kill_worker"]
    assert len(kept.lines) < 50


def test_an_event_that_a_fault_alone_has_killed_is_a_problem() -> None:
    def of(key: str, state: State) -> dict[str, Stored]:
        return {key: Stored("abc", state, 1, HANDLERS)}

    assert not list(needless_deaths(Books(of("evt_1-plain", State.DONE) | of("evt_2-doomed", State.DEAD))))
    assert len(list(needless_deaths(Books(of("evt_1-plain", State.DEAD) | of("evt_2-doomed", State.DONE))))) == 2


def test_a_run_is_good_only_if_it_proves_something_and_nothing_is_wrong() -> None:
    assert Verdict(7).is_good
    assert not Verdict(7, void=["kill_leader did not happen"]).is_good
    assert not Verdict(7, problems=["I1: evt is lost"]).is_good
    assert "1 lost, 0 doubled, 1 problems" in str(Verdict(7, problems=["I1: evt is lost"]))


def proof(**changed: int) -> dict[str, Any]:
    """As `landfast proof --json` says it of ten stored events."""
    told = {"stored": 10, "duplicate": 3, "in flight": 1}
    stored = {"acknowledged": 9, "nobody was told": 1}
    elsewhere = {"brought into the inbox": 4}
    equations = [
        {"name": "received", "left": {"received": 14}, "right": told, "holds": True},
        {"name": "acknowledged is in the inbox", "left": {"in the inbox": 10}, "right": stored, "holds": True},
        {"name": "what waited elsewhere arrives", "left": {"in a spool": 4}, "right": elsewhere, "holds": True},
    ]
    for equation in equations:
        for side in (equation["left"], equation["right"]):
            assert isinstance(side, dict)
            side.update({name: value for name, value in changed.items() if name in side})
    elsewhere |= {name: value for name, value in changed.items() if name == "waiting"}
    return {"lost": changed.get("lost", 0), "doubled": 0, "equations": equations}


@pytest.mark.parametrize(
    "changed", [{"lost": 1}, {"in the inbox": 11}, {"waiting": 1}, {"in flight": 3}, {"nobody was told": 3}]
)
def test_a_proof_that_holds_and_is_not_exact_is_a_problem(changed: dict[str, int]) -> None:
    doubts = doubts_of(Counter({"200": 12, "unknown": 1, "hung up": 1}), killed=0, pace=10)
    assert list(inexact(proof(), events=10, doubts=doubts)) == []
    assert len(list(inexact(proof(**changed), events=10, doubts=doubts))) == 1
