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
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for number in _numbers(node):
                    shown[number].append(f"{file.relative_to(ROOT)}::{node.name}")
    return shown


def _numbers(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[str]:
    return [
        argument.value
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr == "req"
        for argument in decorator.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


if __name__ == "__main__":
    sys.exit(main())
