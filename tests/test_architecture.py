"""The call chains that ARCHITECTURE.md draws are those of the sources."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "landfast"
LINE = re.compile(r"^( *)([\w/*]+\.py) +([\w.*]+)(?: |$)")


class Step(NamedTuple):
    depth: int
    file: str
    function: str
    caller: str | None
    """The file of the line that it is drawn below."""

    def __str__(self) -> str:
        return f"{self.file} {self.function}"


def drawn() -> list[Step]:
    """Every line of the drawing, with the line above it that is indented less."""
    picture = (ROOT / "ARCHITECTURE.md").read_text().split("```")[1]
    steps: list[Step] = []
    for line in picture.splitlines():
        if found := LINE.match(line):
            depth = len(found[1])
            above = next((step.file for step in reversed(steps) if step.depth < depth), None)
            steps.append(Step(depth, found[2], found[3], above if depth else None))
    return steps


def functions(file: Path) -> set[str]:
    """`function` and `Class.method`, as they are defined in a file."""
    tree = ast.parse(file.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    methods = {
        f"{node.name}.{inner.name}"
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for inner in node.body
        if isinstance(inner, kinds)
    }
    return methods | {node.name for node in tree.body if isinstance(node, kinds)}


def names(file: Path) -> set[str]:
    """Every name that a file mentions."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


def test_the_drawing_is_found_and_has_its_three_chains() -> None:
    tops = [step for step in drawn() if not step.depth]
    assert len(drawn()) > 30 and len(tops) >= 3


@pytest.mark.parametrize("step", drawn(), ids=str)
def test_a_function_that_is_drawn_exists_and_is_called_from_the_file_above_it(step: Step) -> None:
    files = sorted(SOURCES.glob(step.file))
    assert files, f"no file is called {step.file}"
    for file in files:
        assert any(fnmatchcase(name, step.function) for name in functions(file)), f"{file.name} has no {step.function}"
    name = step.function.rpartition(".")[2]
    for file in sorted(SOURCES.glob(step.caller)) if step.caller else ():
        assert name in names(file), f"{step.caller} does not mention {name}"
