from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from landfast import cli
from landfast.cli import COMMANDS
from tests.cli.conftest import Run


def test_help_lists_every_command_and_imports_none_of_them() -> None:
    code = "import sys; from landfast.cli import main; main(['--help']); print('landfast.app' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name, line in COMMANDS.items():
        assert f"  {name}" in ended.stdout
        assert line in ended.stdout
    assert ended.stdout.endswith("False\n")


def test_help_has_examples_that_are_commands(landfast: Run) -> None:
    shown = landfast("--help").out.partition("Examples:")[2]
    examples = [line.split()[1] for line in shown.splitlines() if line.strip().startswith("landfast ")]
    assert len(examples) >= 5
    assert set(examples) <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, landfast: Run) -> None:
    ended = landfast(name, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"Usage: landfast {name}")


def test_the_version_is_printed(landfast: Run) -> None:
    assert landfast("--version").out.startswith("landfast, version ")


def test_misuse_is_exit_2(landfast: Run) -> None:
    for arguments in (("nonsense",), ("events", "list", "--limit", "0"), ("replay",), ("send",)):
        ended = landfast(*arguments)
        assert ended.code == 2, arguments
        assert "Traceback" not in ended.err


def test_ctrl_c_is_exit_130(landfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(click.Group, "main", interrupt)
    assert landfast("proof").code == 130


def test_the_module_is_the_command(folder: Path) -> None:
    command = [sys.executable, "-m", "landfast", "events", "list"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert ended.returncode == 2
    assert ended.stderr == (
        "landfast: there is no database landfast.db yet; "
        "no app was given: add --app module:inbox, or app = ... in landfast.toml; "
        "if there is no app, run landfast migrate, or landfast serve, which make it; or correct store and ledger\n"
    )


def test_a_reader_that_has_seen_enough_ends_it_quietly(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [sys.executable, "-m", "landfast", "init"], stdout=writing, stderr=subprocess.PIPE, check=False, cwd=folder
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (1, b"")


def test_hidden_commands_are_not_listed(landfast: Run) -> None:
    assert "_intake" not in landfast("--help").out
    assert landfast("_intake", "--help").code == 0


def test_every_name_is_a_command() -> None:
    context = click.Context(cli.landfast)
    assert all(isinstance(cli.landfast.get_command(context, name), click.Command) for name in COMMANDS)
