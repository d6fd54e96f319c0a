"""`make requirements`: the rows of REQUIREMENTS.md with the tests that show them.

Fails when CHANGELOG.md calls a row done and no test carries its number, or when a test carries a number that is no row.
The rows' own words stand in the shared folder beside the project; without it, the numbers alone are checked.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = ROOT.parent / "shared" / "REQUIREMENTS.md"


def main() -> int:
    rows, shown, promised = known_rows(), marks(), done_rows()
    for number, text in rows.items():
        tests = shown.get(number, [])
        state = "done" if number in promised else "    "
        print(f"{number:>4} {state} {len(tests):3} tests  {text[:110]}")
    missing = [number for number in promised if not shown.get(number)]
    unknown = [number for number in shown if rows and number not in rows]
    for number in missing:
        print(f"CHANGELOG.md calls {number} done, and no test carries it", file=sys.stderr)
    for number in unknown:
        print(f"{shown[number][0]} carries {number}, which is no requirement", file=sys.stderr)
    print(f"{len(promised)} rows done, {len(missing)} of them without a test")
    return 1 if missing or unknown else 0


def known_rows() -> dict[str, str]:
    if not ROWS.exists():
        return {}
    found = re.findall(r"^\| (R\d+) \| (.+?) \|", ROWS.read_text(), re.MULTILINE)
    return {number: text.replace("**", "") for number, text in found}


def done_rows() -> list[str]:
    lines = re.findall(r"^Requirements shown by tests: (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    return sorted({number for line in lines for number in re.findall(r"R\d+", line)}, key=lambda n: int(n[1:]))


def marks() -> dict[str, list[str]]:
    """Requirement number -> names of the tests that carry it, in the tests and in the conformance suites."""
    shown: dict[str, list[str]] = defaultdict(list)
    for folder in (ROOT / "tests", ROOT / "src" / "landfast" / "testing"):
        for file in sorted(folder.rglob("*.py")):
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
