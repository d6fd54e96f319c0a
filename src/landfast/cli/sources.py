"""`landfast sources list|check|rotate|page`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from landfast.app.forwards_checkup import examine_targets
from landfast.app.secret_rotation import rotation
from landfast.app.source_listing import source_fields
from landfast.app.sources_checkup import examine_sources
from landfast.cli import NEGATIVE
from landfast.cli.doctor import say_checks
from landfast.cli.groups import ListsByDefault
from landfast.cli.options import app_option, find_inbox, json_option, run, without_app
from landfast.cli.output import duration, safe, say, say_json, say_table, shown
from landfast.cli.sources_page import page
from landfast.config import FILE, nearest
from landfast.domain.errors import UserError
from landfast.recovery.doctor import Check, Level, is_well

OVERLAP_HOURS = 24.0
"""Hours that two secrets overlap at least: time to find out what was forgotten, on one working day."""


@click.group(cls=ListsByDefault)
def sources() -> None:
    """List sources and their secrets, check them, change a secret, or draw the page of one."""


sources.add_command(page)


@sources.command("list", epilog="Example: landfast sources list --json")
@app_option
@json_option
def list_(*, app: str | None, as_json: bool) -> None:
    """Every source and endpoint: its provider and path, and its secrets by name. No secret is read for it."""
    inbox = find_inbox(app)
    now = inbox.clock.now().timestamp()
    found = [source_fields(source, now) for source in inbox.sources.values()]
    if as_json:
        say_json({"sources": found})
        return
    if not found:
        say(f"there is no source; add one as [sources.NAME] in {FILE}{without_app(app)}")
        return
    headings = ("name", "kind", "provider", "path", "secrets", "covers the body", "public url", "retries for")
    rows = [[_cell(source, heading) for heading in headings] for source in found]
    say_table(headings, rows, whole=("name", "provider"), spare=("kind", "path", "retries for", "public url"))


@sources.command(epilog="Example: landfast sources check --app shop:inbox")
@app_option
@json_option
def check(*, app: str | None, as_json: bool) -> int:
    """Read every secret; say what would be refused, and what is believed too easily. Exit 1 for what cannot work."""
    inbox = find_inbox(app)
    checks = [
        *examine_sources(inbox.sources.values(), inbox.settings, now=inbox.clock.now().timestamp()),
        *run(examine_targets(inbox.forwards.values())),
    ]
    if not inbox.sources:
        fix = f"add one as [sources.NAME] in {FILE}, or with inbox.source(...)"
        checks = [Check("sources", Level.FAIL, f"there is no source{without_app(app)}", fix)]
    if as_json:
        say_json({"well": is_well(checks), "checks": [asdict(check) for check in checks]})
    else:
        say_checks(checks)
    return 0 if is_well(checks) else NEGATIVE


@sources.command(epilog="Example: landfast sources rotate stripe --new env:STRIPE_WEBHOOK_SECRET_2 --hours 48")
@click.argument("source")
@click.option("--new", metavar="REFERENCE", help="Where the new secret will be: env:NAME or file:PATH.")
@click.option(
    "--hours", type=click.FloatRange(max=24 * 365), help="How long both count. Default: a day, or what retries take."
)
@app_option
@json_option
def rotate(*, source: str, new: str | None, hours: float | None, app: str | None, as_json: bool) -> None:
    """Show, line by line, how to change a source's secret without refusing one request. It changes nothing itself."""
    inbox = find_inbox(app)
    settings = inbox.sources.get(source)
    if settings is None:
        hint = nearest(source, inbox.sources) or f"; there are: {', '.join(inbox.sources) or 'none'}"
        raise UserError(f"sources rotate: there is no source {source!r}{hint}{without_app(app)}")
    plan = rotation(inbox, settings, new=new, hours=hours, check=_check_command(app))
    if as_json:
        say_json(plan)
        return
    for number, step in enumerate(plan["steps"], start=1):
        say(f"{number}. {safe(step['do'])}")
        for line in step["lines"]:
            say(f"     {safe(line)}")


def _cell(source: Mapping[str, Any], heading: str) -> Any:
    match heading:
        case "secrets":
            # Those that count first: a narrow terminal cuts off the others.
            return ", ".join(map(_secret_cell, sorted(source["secrets"], key=lambda one: one["state"] != "active")))
        case "covers the body":
            return "NO" if source["covers_body"] == "no" else source["covers_body"]
        case "public url":
            return source["public_url"] or ("MISSING" if source["needs_public_url"] else "")
        case "retries for":
            return _window(source["retry_window_seconds"])
    return source[heading]


def _secret_cell(secret: Mapping[str, Any]) -> str:
    """In quotes, because most are called 1: `'1' active`."""
    times = []
    if secret["state"] == "future":
        times.append(f"from {shown(secret['from'])}")
    if secret["until"] is not None:
        times.append(f"{'since' if secret['state'] == 'retired' else 'until'} {shown(secret['until'])}")
    return " ".join([repr(secret["name"]), secret["state"], *times])


def _window(seconds: float | None) -> str:
    return "unknown" if seconds is None else duration(seconds) if seconds else "never"


def _check_command(app: str | None) -> str:
    """The check of what was looked at here."""
    file = os.environ.get("LANDFAST_CONFIG")
    before = f"LANDFAST_CONFIG={shlex.quote(file)} " if file else ""
    return f"{before}landfast sources check{f' --app {shlex.quote(app)}' if app else ''}"
