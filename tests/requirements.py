"""`make requirements`: the rows of requirements.md with the tests that show them.

Fails when a row is called done and no test carries its number, or when a test carries a number that is no row.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ROWS = Path(__file__).resolve().with_suffix(".md")


class Row(NamedTuple):
    text: str
    is_done: bool


def main() -> int:
    rows, shown = known_rows(), marks()
    for number, row in rows.items():
        state = "done" if row.is_done else "    "
        print(f"{number:>4} {state} {len(shown.get(number, [])):3} tests  {row.text[:110]}")
    done = [number for number, row in rows.items() if row.is_done]
    wrong = problems(rows, shown)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    print(f"{len(done)} of {len(rows)} rows done")
    return 1 if wrong else 0


def known_rows(text: str | None = None) -> dict[str, Row]:
    found = re.findall(r"^\| (R\d+) \| (.+) \| (done )?\|$", text or ROWS.read_text(), re.MULTILINE)
    return {number: Row(words.replace("**", ""), bool(done)) for number, words, done in found}


def problems(rows: dict[str, Row], shown: dict[str, list[str]]) -> list[str]:
    missing = [number for number, row in rows.items() if row.is_done and not shown.get(number)]
    unknown = [number for number in shown if number not in rows]
    return [
        *(f"requirements.md calls {number} done, and no test carries it" for number in missing),
        *(f"{shown[number][0]} carries {number}, which is no requirement" for number in unknown),
    ]


def marks() -> dict[str, list[str]]:
    """Requirement number -> names of the tests that carry it."""
    shown: dict[str, list[str]] = defaultdict(list)
    for file in sorted((ROOT / "tests").rglob("*.py")):
        tree = ast.parse(file.read_text())
        of_all = [number for node in tree.body for number in _of_the_file(node)]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                is_test = node.name.startswith("test_")
                for number in [*_numbers(node.decorator_list), *(of_all if is_test else ())]:
                    shown[number].append(f"{file.relative_to(ROOT)}::{node.name}")
    return shown


def _of_the_file(node: ast.stmt) -> list[str]:
    """`pytestmark` is of every test of its file."""
    if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["pytestmark"]:
        return _numbers(node.value.elts if isinstance(node.value, ast.List) else [node.value])
    return []


def _numbers(marked: list[ast.expr]) -> list[str]:
    return [
        argument.value
        for mark in marked
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "req"
        for argument in mark.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


if __name__ == "__main__":
    sys.exit(main())
