"""`manage.py landfast ...` is the command `landfast ...`, which knows the project and its inbox."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from landfast.cli import main

APP = "landfast.django.app:inbox"
DJANGOS_OWN = ("--settings", "--pythonpath")
"""Options that manage.py has read already, wherever they stand."""


class Command(BaseCommand):
    help = "Run a command of Landfast, such as work, migrate, events, replay or doctor; --help lists them."
    requires_system_checks: Sequence[str] = ()

    def run_from_argv(self, argv: list[str]) -> None:
        """Past Django's parser: the options are Landfast's own."""
        sys.exit(run(_without_djangos_own(argv[2:])))

    def print_help(self, prog_name: str, subcommand: str) -> None:  # noqa: ARG002 - Django's signature
        run(["--help"])

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """For `call_command`."""
        parser.add_argument("arguments", nargs=argparse.REMAINDER)

    def handle(self, *_: object, arguments: Sequence[str], **__: Any) -> None:
        if code := run(arguments):
            raise CommandError(f"landfast {' '.join(arguments)} ended with {code}", returncode=code)


def run(arguments: Sequence[str]) -> int:
    """The exit code. What it starts is another interpreter: the environment tells that one which inbox and project."""
    os.environ.setdefault("LANDFAST_APP", APP)
    folders = [folder for folder in (sys.path[0], *os.environ.get("PYTHONPATH", "").split(os.pathsep)) if folder]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(folders))
    return main(arguments or ["--help"])


def _without_djangos_own(arguments: Sequence[str]) -> list[str]:
    kept, follows = [], False
    for argument in arguments:
        name, has_value, _ = argument.partition("=")
        if follows:
            follows = False
        elif name in DJANGOS_OWN:
            follows = not has_value
        else:
            kept.append(argument)
    return kept
