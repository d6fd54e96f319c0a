"""`landfast reconcile`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console

from landfast.app import Inbox
from landfast.app.reconciling import asked_of, listing_for
from landfast.cli import INTERRUPTED, NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, moment, operator, run, why_option, without_app
from landfast.cli.output import counted, duration, safe, say, say_json, say_table, shown
from landfast.config import nearest
from landfast.domain.errors import UserError
from landfast.domain.operator_log import Action
from landfast.operations.operator_log import audited
from landfast.operations.reconcile import Asked, Result
from landfast.operations.reconcile import reconcile as compare

SHOWN = 50
"""Missing events that are printed; `--json` has a thousand."""


@click.command()
@click.argument("source")
@click.option("--since", default="72h", show_default=True, metavar="AGE|TIME", help="How far to go back.")
@click.option("--dry-run", is_flag=True, help="Only say what never arrived; exit code 1 if there is anything.")
@why_option
@app_option
@json_option
def reconcile(*, source: str, since: str, dry_run: bool, why: str, app: str | None, as_json: bool) -> int:
    """Ask the provider for its own list of events, say which of them never arrived, and take those in: under the key
    that their delivery would have had, so that a late delivery is a duplicate.

    Ctrl-C stops it after a page; the same command goes on where it stopped.
    """
    inbox = find_inbox(app)
    settings = inbox.sources.get(source)
    if settings is None:
        hint = nearest(source, inbox.sources) or f"; there are {', '.join(inbox.sources) or 'none'}"
        raise UserError(f"reconcile: there is no source {source!r}{hint}{without_app(app)}")
    now = datetime.now(UTC)
    asked = asked_of(settings, inbox.settings, inbox.registry, since=moment(since, now=now), now=now, dry=dry_run)
    kept = listing_for(settings).kept
    if kept and (now - asked.since).total_seconds() > kept:
        click.echo(f"landfast: note: {settings.provider} lists its events for {duration(kept)} only", err=True)
    try:
        result = run(_reconcile(inbox, asked, since, why, quiet=as_json))
    except KeyboardInterrupt:
        click.echo("\nstopped; the same command goes on", err=True)
        return INTERRUPTED
    if result is None:
        click.echo(f"landfast: another process is comparing {safe(source)} now", err=True)
        return NEGATIVE
    if as_json:
        say_json(_fields(source, result))
    else:
        _say(source, result)
    return NEGATIVE if result.refused or (dry_run and result.missing) else 0


async def _reconcile(inbox: Inbox, asked: Asked, since: str, why: str, *, quiet: bool) -> Result | None:
    console = Console(stderr=True)
    with console.status("asking the provider") as status:
        if quiet or not console.is_terminal:
            status.stop()

        def report(result: Result) -> None:
            status.update(f"{result.listed:,} listed, {result.missing:,} never arrived")

        how: dict[str, Any] = {"clock": inbox.clock, "chance": inbox.chance, "report": report}
        async with inbox.archive() as archive:
            if asked.is_dry:
                return await compare(archive, asked, **how)
            what = {"source": asked.source.name, "since": since}
            async with audited(archive, Action.RECONCILE, who=operator(), why=why, what=what) as audit:
                result = await compare(archive, asked, **how)
                if result is not None:
                    audit.touched(result.new)
                    audit.note(listed=result.listed, missing=result.missing)
                return result


def _say(source: str, result: Result) -> None:
    if result.named:
        rows = [(one.key, one.type, one.occurred_at, one.why_not) for one in result.named[:SHOWN]]
        say_table(("key", "type", "occurred", "why not"), rows, whole=("key",), spare=("occurred",))
        if result.missing > SHOWN:
            say(f"... and {result.missing - SHOWN:,} more")
    parts = [f"{counted(result.listed)} listed since {shown(result.since)}", f"{result.known:,} known"]
    parts += [f"{count:,} {why}" for why, count in sorted(result.left_out.items())]
    say(f"{safe(source)}: {', '.join(parts)}")
    done = "would be taken in" if result.is_dry else "taken in"
    taken = result.missing - result.refused if result.is_dry else result.taken
    say(f"{result.missing:,} never arrived: {taken:,} {done}" + (f", {result.refused:,} not" if result.refused else ""))


def _fields(source: str, result: Result) -> dict[str, Any]:
    counts = {name: getattr(result, name) for name in ("listed", "known", "missing", "taken", "refused")}
    return {
        "source": source,
        "since": result.since,
        "dry_run": result.is_dry,
        "resumed": result.resumed,
        **counts,
        "left_out": dict(result.left_out),
        "events": [
            {
                "key": one.key,
                "type": one.type,
                "id": None if one.event_id is None else one.event_id.hex(),
                "occurred_at": one.occurred_at,
                "why_not": one.why_not or None,
            }
            for one in result.named
        ],
    }
