"""The call chains and the layers that ARCHITECTURE.md draws are those of the sources."""

from __future__ import annotations

import ast
import re
import tomllib
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
    caller: tuple[str, str] | None
    """File and function of the line that it is drawn below."""

    def __str__(self) -> str:
        return f"{self.file} {self.function}"


def drawn() -> list[Step]:
    """Every line of the drawing, with the line above it that is indented less."""
    picture = (ROOT / "ARCHITECTURE.md").read_text().split("```")[1]
    steps: list[Step] = []
    for line in picture.splitlines():
        if found := LINE.match(line):
            depth = len(found[1])
            above = next(((step.file, step.function) for step in reversed(steps) if step.depth < depth), None)
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


def reached(file: Path, function: str) -> set[str]:
    """Every name that a function mentions, itself or through functions of its own file."""
    mentions: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            mentions.setdefault(node.name, set()).update(_names(node))
    found: set[str] = set()
    ahead = [function.rpartition(".")[2]]
    while ahead:
        new = mentions.pop(ahead.pop(), set())
        found |= new
        ahead += new
    return found


def _names(function: ast.AST) -> set[str]:
    nodes = list(ast.walk(function))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return attributes | {node.id for node in nodes if isinstance(node, ast.Name)}


def test_the_drawing_is_found_and_has_its_three_chains() -> None:
    tops = [step for step in drawn() if not step.depth]
    assert len(drawn()) > 30 and len(tops) >= 3


@pytest.mark.parametrize("step", drawn(), ids=str)
def test_a_function_that_is_drawn_exists_and_is_called_from_the_one_above_it(step: Step) -> None:
    files = sorted(SOURCES.glob(step.file))
    assert files, f"no file is called {step.file}"
    for file in files:
        assert any(fnmatchcase(name, step.function) for name in functions(file)), f"{file.name} has no {step.function}"
    if step.caller:
        above, function = step.caller
        name = step.function.rpartition(".")[2]
        for file in sorted(SOURCES.glob(above)):
            assert name in reached(file, function), f"{function} of {above} does not come to {name}"


def test_a_call_that_another_function_of_the_file_makes_is_not_taken_for_one() -> None:
    settling = SOURCES / "processing/settle.py"
    assert "settle" in reached(settling, "Settler.run") and "settle" not in reached(settling, "Settler.submit")


def test_the_layers_that_are_drawn_are_those_that_import_linter_keeps() -> None:
    picture = (ROOT / "ARCHITECTURE.md").read_text().partition("## Layers")[2].split("```")[1]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["type"] == "layers")
    assert [line.partition("  ")[0] for line in picture.strip().splitlines()] == layers
