"""`landfast replay`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from landfast.app import Inbox
from landfast.cli import INTERRUPTED, NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, moment, note_unknown_source, operator, run
from landfast.cli.output import counted, safe, say, say_json
from landfast.domain.errors import UserError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.recovery import replay as recovery
from landfast.recovery.find import find_event

SKIPPING = "; no handler that is done runs again: that takes --force, and writes a second time"


@click.command()
@click.argument("what", metavar="EVENT | FILTER...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option("--rate", type=click.FloatRange(0.1, 100_000), help="Events a second, at most.")
@click.option("--force", is_flag=True, help="Run handlers again that are done already: their writes happen once more.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--since-mark", metavar="TIME", help="Go on with an interrupted replay; it printed its mark.")
@app_option
@json_option
def replay(
    *,
    what: tuple[str, ...],
    dry_run: bool,
    rate: float | None,
    force: bool,
    yes: bool,
    since_mark: str | None,
    app: str | None,
    as_json: bool,
) -> int:
    """Run events again, under their original key: one by its id, key or SOURCE/KEY, or all that match a filter
    (dead letters, unless it names a state). Handlers that are done are skipped, unless --force.

    Ctrl-C stops it between two events; the same command goes on where it stopped.
    """
    inbox = find_inbox(app)
    if len(what) == 1 and ":" not in what[0]:
        return _one(inbox, what[0], force=force, dry=dry_run, as_json=as_json)
    now = datetime.now(UTC)
    chosen = recovery.wanted(" ".join(what), now=now)
    note_unknown_source(inbox, chosen)
    mark = moment(since_mark, now=now) if since_mark else None
    count = run(_count(inbox, chosen))
    if dry_run:
        _say({"would_replay": count}, f"{count:,} would be replayed", as_json=as_json)
        return 0
    if count and not yes:
        _confirm(count, chosen, force=force)
    bulk = _Bulk(inbox, chosen, count, force=force, rate=rate, mark=mark)
    try:
        run(bulk.replay(quiet=as_json))
    except KeyboardInterrupt:
        done = bulk.progress
        again = f"; go on with --since-mark {done.mark.isoformat()}" if chosen.state is State.DONE and done.mark else ""
        click.echo(f"\nstopped after {done.replayed:,} of {count:,}{again or '; the same command goes on'}", err=True)
        return INTERRUPTED
    replayed = bulk.progress.replayed
    skipping = SKIPPING if replayed and chosen.state is State.DONE and not force else ""
    _say({"replayed": replayed}, f"{replayed:,} replayed{skipping}", as_json=as_json)
    return 0


class _Bulk:
    def __init__(
        self, inbox: Inbox, chosen: Filter, count: int, *, force: bool, rate: float | None, mark: datetime | None
    ) -> None:
        self._inbox = inbox
        self._chosen = chosen
        self._count = count
        self._force = force
        self._rate = rate
        self._mark = mark
        self.progress = recovery.Progress(0, 0, mark)

    async def replay(self, *, quiet: bool) -> None:
        console = Console(stderr=True)
        speed = TextColumn("{task.fields[speed]}")
        columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), speed, TimeRemainingColumn())
        with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bar:
            task = bar.add_task("replaying", total=self._count, speed="")

            def report(progress: recovery.Progress) -> None:
                self.progress = progress
                pace = bar.tasks[0].speed or 0.0
                bar.update(task, completed=progress.looked_at, speed=f"{pace:,.0f}/s" if pace else "")

            async with self._inbox.archive() as archive:
                await recovery.replay(
                    archive,
                    self._chosen,
                    forced=self._force,
                    who=operator(),
                    clock=self._inbox.clock,
                    rate=self._rate,
                    since_mark=self._mark,
                    report=report,
                )


def _one(inbox: Inbox, name: str, *, force: bool, dry: bool, as_json: bool) -> int:
    found, replayed = run(_replay_one(inbox, name, force=force, dry=dry))
    if found is None:
        click.echo(f"landfast: no event {safe(name)!r}; see landfast events list", err=True)
        return NEGATIVE
    if dry:
        _say({"would_replay": 1, "state": found}, f"it is {found}; 1 would be replayed", as_json=as_json)
        return 0
    skipping = SKIPPING if found is State.DONE and not force else ""
    _say(
        {"replayed": int(replayed), "state": found},
        f"replayed{skipping}" if replayed else f"it is {found}, on its way",
        as_json=as_json,
    )
    return 0 if replayed else NEGATIVE


def _confirm(count: int, chosen: Filter, *, force: bool) -> None:
    match, are, them = ("matches", "is", "it") if count == 1 else ("match", "are", "them")
    if not sys.stdin.isatty():
        raise UserError(f"replay: {counted(count)} {match}; add --yes to replay {them} without being asked")
    twice = " AGAIN, with a second set of writes where done" if force else ""
    click.confirm(f"{counted(count)} {are} {chosen.state}. Run {them}{twice}?", abort=True)


async def _count(inbox: Inbox, chosen: Filter) -> int:
    async with inbox.archive() as archive:
        return await recovery.count(archive, chosen)


async def _replay_one(inbox: Inbox, name: str, *, force: bool, dry: bool) -> tuple[State | None, bool]:
    async with inbox.archive() as archive:
        record = await find_event(archive, name)
        if record is None:
            return None, False
        event = record.summary
        if event.erased_at is not None:
            raise UserError(
                f"replay: this event was erased at {event.erased_at:%Y-%m-%d %H:%M} UTC; nothing is left to run"
            )
        replayed = not dry and await recovery.replay_one(archive, event.event_id, forced=force, who=operator())
        return event.state, replayed


def _say(fields: dict[str, object], text: str, *, as_json: bool) -> None:
    if as_json:
        say_json(fields)
    else:
        say(text)
