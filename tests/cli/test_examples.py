"""Every command's `--help` ends with something to copy, and what it shows can be typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from landfast.cli import landfast
from landfast.cli.examples import EXAMPLES
from tests.docs.test_blocks import must_parse


def commands(
    command: click.Command, path: str, parent: click.Context | None = None
) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(command, parent, path.rpartition(" ")[2], **command.context_settings)
    if not isinstance(command, click.Group):
        yield path.partition(" ")[2], command
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if inner is not None and not inner.hidden:
            yield from commands(inner, f"{path} {name}", context)


COMMANDS = dict(commands(landfast, "landfast"))


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_shows_examples_that_can_be_typed(path: str) -> None:
    """Add them to landfast/cli/examples.py, or as the command's own `epilog`."""
    lines = typed(COMMANDS[path].epilog or "")
    assert lines, f"landfast {path} --help has no example"
    assert all(line.startswith(f"landfast {path}") for line in lines)
    for line in lines:
        must_parse(shlex.split(line)[1:])


def typed(epilog: str) -> list[str]:
    """Its commands, without the notes in a column beside them, and without what a shell does."""
    rows = epilog.splitlines()
    columns = [found.end() for row in rows if (found := re.search(r"landfast .*?\S {2,}(?=\S)", row))]
    column = max(columns, default=1000)
    bare = [re.split(r"(?<=\S) {2,}", row[:column] if row[column - 1 : column] == " " else row)[0] for row in rows]
    whole = re.sub(r"\s*\\\n\s*", " ", "\n".join(bare))
    return [line.partition(" < ")[0].strip() for line in re.findall(r"\blandfast [a-z].*", whole)]


def test_no_example_is_of_a_command_that_is_gone() -> None:
    assert EXAMPLES.keys() <= COMMANDS.keys()


def test_an_example_fits_a_terminal() -> None:
    for path, command in COMMANDS.items():
        assert not [line for line in (command.epilog or "").splitlines() if len(line) > 120], path
