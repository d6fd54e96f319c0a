"""An event that was named and is not there: one sentence and exit code 1 for every command."""

from __future__ import annotations

from typing import IO, Any

import click

from landfast.cli import NEGATIVE
from landfast.cli.output import safe


class NoEventError(click.ClickException):
    exit_code = NEGATIVE

    def __init__(self, name: str, *, see: str = "events list") -> None:
        super().__init__(f"no event {safe(name)!r}; see landfast {see}")

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"landfast: {self.message}", file=file, err=True)
