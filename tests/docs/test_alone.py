"""The repository stands alone: nothing in it needs, or cites, what lies outside of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import requirements

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = ("src", "docs", "bench", "deploy", "examples", "models", "simulations", ".ci", ".github")
WORDS = (".py", ".md", ".sql", ".toml", ".yml", ".yaml", ".txt", "")


def public_files() -> Iterator[Path]:
    yield from (file for file in ROOT.glob("*") if file.is_file() and file.suffix in WORDS)
    for folder in PUBLIC:
        yield from (file for file in (ROOT / folder).rglob("*") if file.is_file() and file.suffix in WORDS)


def found(pattern: str, files: Iterator[Path]) -> list[str]:
    return [
        f"{file.relative_to(ROOT)}:{number}"
        for file in files
        if "__pycache__" not in file.parts and not file.name.startswith(".coverage")
        for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1)
        if re.search(pattern, line)
    ]


@pytest.mark.parametrize(
    "pattern",
    [
        r"\.\./shared|\bshared/",
        r"DESIGN section|DESIGN\.md|STYLE\.md|FAULTS\.md|REQUIREMENTS\.md",
        r"(?i)\bthe seeds\b|\bseeds'",
        r"/tmp/wt|/root/",
    ],
)
def test_no_public_file_cites_what_is_not_in_the_repository(pattern: str) -> None:
    assert not found(pattern, public_files())


def test_numbers_of_requirements_stand_in_the_tests_only() -> None:
    """To anybody else they are dead links."""
    assert not found(r"\bR[1-6][0-9]?\b", public_files())


def test_no_test_reads_above_the_repository() -> None:
    others = (file for file in (ROOT / "tests").rglob("*.py") if file != Path(__file__).resolve())
    assert not found(r"ROOT\.parent\b|\.\./shared|[\"']shared[\"'] */", others)


def test_every_row_that_is_done_has_a_test_and_every_number_a_row() -> None:
    rows = requirements.known_rows()
    assert len(rows) > 40 and sum(row.is_done for row in rows.values()) > 20
    assert not requirements.problems(rows, requirements.marks())


def test_a_row_that_is_done_without_a_test_and_a_number_without_a_row_are_told() -> None:
    rows = requirements.known_rows("| R1 | Signed | done |\n| R2 | Not yet | |\n")
    assert requirements.problems(rows, {"R3": ["tests/test_x.py::test_y"]}) == [
        "requirements.md calls R1 done, and no test carries it",
        "tests/test_x.py::test_y carries R3, which is no requirement",
    ]
