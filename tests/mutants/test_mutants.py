"""Every mutant still fits the sources, and what kills it is there. Whether it kills: `make mutants`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import landfast
from tests.mutants.patches import ROOT, Mutant, PatchError, mutants, read

MUTANTS = mutants()

FEWEST_MUTANTS = 18


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_mutant_applies_and_changes_what_it_names(mutant: Mutant) -> None:
    changed = mutant.changed(ROOT / "src")
    assert changed
    for name, text in changed.items():
        assert text != (ROOT / "src" / name).read_text()
        if name.endswith(".py"):
            compile(text, name, "exec")
    assert mutant.breaks.endswith(".") and re.match(r"I\d+\b", mutant.promise)


def test_there_are_enough_of_them_and_every_killing_test_exists() -> None:
    assert len(MUTANTS) >= FEWEST_MUTANTS
    tests = {test for mutant in MUTANTS for test in mutant.kills}
    files = sorted({test.partition("::")[0] for test in tests})  # each once: for a test alone its file is read again
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr
    known = set(found.stdout.splitlines())
    known |= {test.partition("[")[0] for test in known}  # all of its cases
    known |= {test.rpartition("::")[0] for test in known}  # all of its class, or its file
    assert not tests - known


def test_a_copy_on_the_path_comes_before_the_sources_themselves(tmp_path: Path) -> None:
    """Otherwise every mutant would be judged by the healthy code."""
    MUTANTS[0].copy(ROOT / "src", tmp_path / "src")
    place = subprocess.run(
        [sys.executable, "-c", "import landfast; print(landfast.__file__)"],
        env={"PYTHONPATH": str(tmp_path / "src")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert place == str(tmp_path / "src" / "landfast" / "__init__.py") != landfast.__file__


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("A sentence.\n\n--- a/src/x\n+++ b/src/x\n", "its head is"),
        ("A sentence.\npromise: I1\nkills: a\n", "its head is"),
    ],
    ids=["no head", "no diff"],
)
def test_a_patch_without_its_head_or_diff_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "odd.patch").write_text(text)
    with pytest.raises(PatchError, match=why):
        read(tmp_path / "odd.patch")


def test_a_hunk_that_fits_nowhere_or_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text("a = 1\nb = 2\na = 1\n")
    for line in ("a = 1", "c = 3"):
        diff = f"--- a/src/some.py\n+++ b/src/some.py\n@@ -1 +1 @@\n-{line}\n+d = 4\n"
        with pytest.raises(PatchError, match=r"there \d times"):
            Mutant("some", "", "I1", (), diff).changed(tmp_path)
