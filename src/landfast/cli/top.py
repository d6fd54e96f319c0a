"""`landfast top`: the overview in a terminal."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from landfast.cli.options import app_option, find_inbox, run
from landfast.domain.errors import UserError
from landfast.domain.filter import joined, parse


@click.command(epilog="Example: landfast top state:dead since:2h")
@click.argument("filter_", metavar="[FILTER]...", nargs=-1)
@app_option
def top(*, filter_: tuple[str, ...], app: str | None) -> None:
    """The overview in a terminal: what flows, what fails, and the newest events, drawn again every other second.

    FILTER chooses the events, as in landfast events list. Keys: / filter, j and k move, Enter opens, ? explains them.
    """
    try:
        import_module("textual")
    except ImportError:
        raise UserError("top: it needs the package textual; install it with: pip install 'landfast[top]'") from None
    inbox = find_inbox(app)
    text = joined(filter_)
    parse(text, now=inbox.clock.now())  # a mistake is said before the screen is taken
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError("top: it needs a terminal; for scripts there is landfast status --json")
    from landfast.cli.terminal.app import Top  # late: it needs the extra

    run(Top(inbox, text).run_async())
