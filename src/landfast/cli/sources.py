"""`landfast sources list|check|rotate`."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from landfast.app import Inbox
from landfast.app.sources import profile_of
from landfast.app.sources_checkup import drops_refused, examine_sources
from landfast.cli import NEGATIVE
from landfast.cli.doctor import say_checks
from landfast.cli.options import app_option, find_inbox, json_option, without_app
from landfast.cli.output import duration, safe, say, say_json, say_table, shown
from landfast.config import FILE, SecretSettings, SourceSettings, nearest
from landfast.domain.errors import UserError
from landfast.recovery.doctor import Check, Level, is_well

OVERLAP_HOURS = 24.0
"""Hours that two secrets overlap at least: time to find out what was forgotten, on one working day."""


@click.group()
def sources() -> None:
    """List sources and their secrets, check them, or change a secret."""


@sources.command("list", epilog="Example: landfast sources list --json")
@app_option
@json_option
def list_(*, app: str | None, as_json: bool) -> None:
    """Every source: its provider and path, and its secrets by name. No secret is read for it."""
    inbox = find_inbox(app)
    now = inbox.clock.now().timestamp()
    found = [_fields(source, now) for source in inbox.sources.values()]
    if as_json:
        say_json({"sources": found})
        return
    if not found:
        say(f"there is no source; add one as [sources.NAME] in {FILE}{without_app(app)}")
        return
    headings = ("name", "provider", "path", "secrets", "covers the body", "public url", "retries for")
    rows = [[_cell(source, heading) for heading in headings] for source in found]
    say_table(headings, rows, whole=("name", "provider"), spare=("path", "retries for", "public url"))


@sources.command(epilog="Example: landfast sources check --app shop:inbox")
@app_option
@json_option
def check(*, app: str | None, as_json: bool) -> int:
    """Read every secret; say what would be refused, and what is believed too easily. Exit 1 for what cannot work."""
    inbox = find_inbox(app)
    checks = examine_sources(inbox.sources.values(), inbox.settings, now=inbox.clock.now().timestamp())
    if not checks:
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
    if new is not None and not re.fullmatch(r"(env|file):\S+", new):
        raise UserError(
            "sources rotate: --new must be env:NAME or file:PATH; a secret itself would stay in your history"
        )
    if new in [secret.value for secret in settings.secrets]:
        raise UserError(f"sources rotate: --new {new} is where a secret of {source} is now; name another place")
    if hours is not None and not hours > 0:
        raise UserError(
            f"sources rotate: --hours {hours:g} leaves no time in which both count; give 24, or leave it out"
        )
    window = profile_of(settings).redelivery.window or 0.0
    overlap = max(OVERLAP_HOURS, math.ceil(window / 3600)) if hours is None else hours
    until = (inbox.clock.now() + timedelta(hours=overlap)).replace(microsecond=0)
    reference = new or _next_reference(settings)
    plan = _plan(inbox, settings, reference, until, check=_check_command(app))
    if as_json:
        say_json(plan)
        return
    for number, step in enumerate(plan["steps"], start=1):
        say(f"{number}. {safe(step['do'])}")
        for line in step["lines"]:
            say(f"     {safe(line)}")


def _fields(source: SourceSettings, now: float) -> dict[str, Any]:
    profile = profile_of(source)
    tolerance = source.tolerance or profile.tolerance
    return {
        "name": source.name,
        "provider": profile.name,
        "path": f"/in/{source.name}",
        "public_url": source.public_url or None,
        "needs_public_url": profile.needs_url,
        "covers_body": profile.coverage,
        "proves_account": profile.proves_account,
        "every_arrival_is_an_event": "arrival" in profile.key,
        "tolerance_seconds": None if math.isinf(tolerance) else tolerance,
        "refusal_status": profile.refusal,
        "refusal_is_final": drops_refused(profile),
        "retry_window_seconds": profile.redelivery.window,
        "secrets": [_secret_fields(secret, number, now) for number, secret in enumerate(source.secrets, start=1)],
    }


def _secret_fields(secret: SecretSettings, number: int, now: float) -> dict[str, Any]:
    state = "future" if now < secret.start else "retired" if now >= secret.end else "active"
    return {
        "name": secret.name or f"{number}",
        "state": state,
        "from": _moment(secret.start),
        "until": _moment(secret.end),
        "reference": _reference(secret),
    }


def _reference(secret: SecretSettings) -> str | None:
    """Where it is; None for a secret that stands in the settings themselves."""
    return secret.value if secret.value.startswith(("env:", "file:")) else None


def _moment(unix: float) -> datetime | None:
    return datetime.fromtimestamp(unix, UTC) if math.isfinite(unix) else None


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


def _next_reference(settings: SourceSettings) -> str:
    """The last secret's place with a number: STRIPE_SECRET, STRIPE_SECRET_2, STRIPE_SECRET_3."""
    last = _reference(settings.secrets[-1])
    if last is None:
        return f"env:{re.sub(r'[^A-Z0-9]', '_', settings.name.upper())}_SECRET_2"
    found = re.fullmatch(r"(.*?)_(\d+)", last)
    return f"{found[1]}_{int(found[2]) + 1}" if found else f"{last}_2"


def _check_command(app: str | None) -> str:
    """The check of what was looked at here."""
    file = os.environ.get("LANDFAST_CONFIG")
    before = f"LANDFAST_CONFIG={shlex.quote(file)} " if file else ""
    return f"{before}landfast sources check{f' --app {shlex.quote(app)}' if app else ''}"


def _plan(inbox: Inbox, settings: SourceSettings, reference: str, until: datetime, *, check: str) -> dict[str, Any]:
    profile, now = profile_of(settings), inbox.clock.now().timestamp()
    is_in_file = settings.name in inbox.settings.sources
    where = os.environ.get("LANDFAST_CONFIG", FILE) if is_in_file else "the code, where inbox.source(...) is called"
    kept = [(number, each) for number, each in enumerate(settings.secrets, start=1) if each.end > now]
    after = f"{until:%Y-%m-%dT%H:%M:%SZ}"
    table = f"[sources.{settings.name}]" if is_in_file else f"inbox.source({settings.name!r}, ...)"
    write = _toml if is_in_file else _python
    lines = write(kept, reference, until)
    title = profile.title or profile.name
    steps = [
        _step(f"Have a new secret made at {title}, or choose one where {title} lets you. Put it into {reference}."),
        _step(f"In {where}, {table}, replace secrets by these lines; until {after} both count:", *lines),
        _step("Check it, then restart landfast serve: secrets are read at its start.", check),
        _step(f"Let {title} sign with the new one, before {after}."),
        _step(
            "Watch the log: each secret in use is named once an hour. When only the new one is, take the old one away.",
            f"secret in use source={settings.name} secret={_name(reference)}",
        ),
    ]
    return {"source": settings.name, "until": until, "new": reference, "lines": lines, "steps": steps}


def _step(do: str, *lines: str) -> dict[str, Any]:
    return {"do": do, "lines": lines}


def _toml(kept: Sequence[tuple[int, SecretSettings]], reference: str, until: datetime) -> list[str]:
    rows = []
    for number, secret in kept:
        start = _moment(secret.start)
        value = _reference(secret) or "(the secret that stands there now)"
        fields = [f'value = "{value}"', f'name = "{secret.name or number}"']
        fields += [f"from = {start:%Y-%m-%dT%H:%M:%SZ}"] if start else []
        rows.append(f"    {{ {', '.join([*fields, f'until = {_earlier(secret, until):%Y-%m-%dT%H:%M:%SZ}'])} }},")
    return ["secrets = [", *rows, f'    {{ value = "{reference}", name = "{_name(reference)}" }},', "]"]


def _python(kept: Sequence[tuple[int, SecretSettings]], reference: str, until: datetime) -> list[str]:
    rows = []
    for number, secret in kept:
        value = _reference(secret) or "(the secret that stands there now)"
        end = f'datetime.fromisoformat("{_earlier(secret, until).isoformat()}")'
        rows.append(f'    {{"value": "{value}", "name": "{secret.name or number}", "until": {end}}},')
    first = "from datetime import datetime  # at the top of the file"
    return [first, "secrets=[", *rows, f'    {{"value": "{reference}", "name": "{_name(reference)}"}},', "],"]


def _earlier(secret: SecretSettings, until: datetime) -> datetime:
    """One that ends before, ends as it does."""
    return min(until, _moment(secret.end) or until)


def _name(reference: str) -> str:
    return reference.partition(":")[2].rpartition("/")[2].lower().replace("_", "-")
