"""Asking an operator before something is changed."""

from __future__ import annotations

import sys

import click

from landfast.cli.output import counted
from landfast.domain.errors import UserError


def confirm(command: str, question: str, *, refusal: str) -> None:
    """Ask; without a terminal refuse, and say what to add. The question goes to stderr: stdout is for the result, which
    a program may be reading while somebody sits at the keyboard."""
    if not sys.stdin.isatty():
        raise UserError(f"{command}: {refusal}")
    click.confirm(question, abort=True, err=True)


def confirm_many(command: str, count: int, state: str, *, verb: str, meant: str) -> None:
    """`3 events are dead. Run them?`"""
    match, are, them = ("matches", "is", "it") if count == 1 else ("match", "are", "them")
    confirm(
        command,
        f"{counted(count)} {are} {state}. {meant.replace('them', them)}?",
        refusal=f"{counted(count)} {match}; add --yes to {verb} {them} without being asked",
    )
