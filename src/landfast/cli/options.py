"""What the commands share: how they find the application, and the options that all of them have."""

from __future__ import annotations

import asyncio
import getpass
import os
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, TypeVar

import click

from landfast import config
from landfast.app import Inbox, load
from landfast.domain.errors import NoDatabaseError, UserError
from landfast.domain.filter import Filter, parse

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

ROWS = 50
"""Rows of a listing: a screenful; `--after` goes on from there."""


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def app_option(function: F) -> F:
    text = "module:inbox, or a file. Default: LANDFAST_APP, or app in landfast.toml, or else only the settings."
    return click.option("--app", metavar="APP", help=text)(function)


def oldest_first_option(function: F) -> F:
    return click.option("--oldest-first", is_flag=True, help="Otherwise the newest come first.")(function)


def why_option(function: F) -> F:
    text = "Why, for whoever reads landfast audit list."
    return click.option("--why", default="", metavar="TEXT", help=text)(function)


def find_inbox(app: str | None) -> Inbox:
    """The application that was named, here or in the settings; without one, an inbox of the settings alone."""
    warn_of_strange_variables()
    named = app or config.load().app
    return load(named) if named else Inbox()


def without_app(app: str | None) -> str:
    """What to add to a sentence about something that is missing: it may be declared in the code, and none was read."""
    if app or config.load().app:
        return ""
    return "; no app was given: add --app module:inbox, or app = ... in landfast.toml"


def warn_of_strange_variables() -> None:
    for sentence in config.strange_variables():
        click.echo(f"landfast: warning: {sentence}", err=True)


def note_unknown_source(inbox: Inbox, wanted: Filter) -> None:
    """A filter may name a source that was taken away since, so this is a note and no error."""
    if wanted.source is not None and inbox.sources and wanted.source not in inbox.sources:
        hint = config.nearest(wanted.source, inbox.sources) or f"; there are {', '.join(inbox.sources)}"
        click.echo(f"landfast: note: no source is called {wanted.source!r} now{hint}", err=True)


def run(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except NoDatabaseError as error:
        # The code may say where it is: to migrate without having read that would make a stray one.
        app = click.get_current_context().params.get("app")
        if hint := without_app(app):
            raise UserError(f"{error.args[0]}{hint}; if there is no app, {error.fix}") from None
        raise


def moment(text: str, *, now: datetime) -> datetime:
    """An age such as 2h, or an ISO time."""
    found = parse(f"since:{text}", now=now).since
    if found is None:
        raise UserError("give an age such as 2h, or an ISO time")
    return found


def operator() -> str:
    """Who did it, for the history: the login of whoever runs the command."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's nameless user
        return f"uid {os.getuid()}"
