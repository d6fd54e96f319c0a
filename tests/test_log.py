"""The log: every line is in the table, with its level and its fields."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from landfast import telemetry
from landfast.cli import landfast
from landfast.intake.durability import strict
from landfast.log_lines import FIELDS, LINES

SOURCES = Path(__file__).resolve().parent.parent / "src" / "landfast"
LEVELS = {"info": "info", "info_each": "info", "warn": "warning", "warn_in_detail": "warning", "error": "error"}
VARIABLE = {"intake/diagnosis/alerts.py": {"what"}, "intake/durability/strict.py": {"TOLD[other.hold]"}}
"""Where a name is no literal; `test_names_that_are_looked_up` knows what they can be."""


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """The file, the method, and the call of each line that is logged."""
    for file in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            owner, _, method = called.rpartition(".")
            if (owner in {"telemetry", "self._alerts"} and method in LEVELS) or (called == "tell" and node.args):
                yield str(file.relative_to(SOURCES)), method, node


def test_every_line_is_in_the_table_at_its_level_and_with_its_fields() -> None:
    wrong = []
    found = set()
    for file, method, call in calls():
        name = call.args[0]
        place = f"{file}:{call.lineno}"
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            if ast.unparse(name) not in VARIABLE.get(file, set()):
                wrong.append(f"{place}: the name is no literal")
            continue
        found.add(name.value)
        line = LINES.get(name.value)
        if line is None:
            wrong.append(f"{place}: {name.value} is not in landfast.log_lines")
            continue
        if method in LEVELS and LEVELS[method] not in line.levels:
            wrong.append(f"{place}: {name.value} at level {LEVELS[method]}")
        given = {each.arg for each in call.keywords if each.arg not in {None, "trace"}}
        wrong += [f"{place}: {name.value} has no field {field}" for field in given - set(line.fields)]
    assert not wrong
    assert set(LINES) - found == set(strict.TOLD.values()), "lines of the table that nobody writes"


def test_names_that_are_looked_up_are_in_the_table() -> None:
    assert set(strict.TOLD.values()) <= set(LINES)


def test_every_field_is_explained_and_every_line_says_what_it_means() -> None:
    assert {field for line in LINES.values() for field in line.fields} == set(FIELDS)
    assert not [name for name, line in LINES.items() if not line.meaning.endswith(".")]
    assert not [name for name, line in LINES.items() if line.fix and not line.fix.endswith((".", "`"))]


def test_a_command_that_a_line_advises_is_one_that_can_be_typed() -> None:
    advised = [command for line in LINES.values() for command in re.findall(r"`landfast ([^`]+)`", line.fix)]
    assert advised
    wrong = []
    for words in advised:
        try:
            type_in(words.split())
        except click.UsageError as error:
            wrong.append(f"landfast {words}: {error.format_message()}")
    assert not wrong


def type_in(words: list[str]) -> None:
    """What click does before it runs a command. A name alone is a way to speak of a command, and needs no argument."""
    command: click.Command = landfast
    # With its settings: click remembers a command's help option as the first context asked for it.
    with click.Context(landfast, **landfast.context_settings) as context:
        while isinstance(command, click.Group) and words:
            _, found, words = command.resolve_command(context, words)
            assert found is not None
            command = found
        if words:
            command.make_context(command.name, words, parent=context)


def test_what_a_test_logs_outside_of_the_table_is_noticed(strange_lines: list[str]) -> None:
    """The fixture of tests/conftest.py, which sees the fields that no reading of the code shows."""
    telemetry.warn("no_such_line")
    telemetry.warn("resumed", error="no field of it")
    with pytest.raises(AssertionError):
        assert not strange_lines
    assert strange_lines == ["no_such_line", "resumed error"]
    strange_lines.clear()


def test_every_line_stands_on_its_page() -> None:
    page = Path(__file__).parents[1].joinpath("docs/reference/log.md").read_text()
    assert not [name for name in LINES if f"\n| `{name}` |" not in page]
