"""Replays of many events: `landfast replay list|show|cancel|resume`, and the bar of one that is carried out here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from landfast.app import Inbox
from landfast.cli import INTERRUPTED, NEGATIVE
from landfast.cli.options import ROWS, app_option, find_inbox, json_option, operator, run, why_option
from landfast.cli.output import counted, safe, say, say_json, say_pairs, say_table
from landfast.domain.filter import Filter
from landfast.domain.job import Job, JobState, Plan
from landfast.operations import replay_jobs as operations
from landfast.ports import inbox as ports

HEADINGS = ("job", "state", "replayed", "of", "begun", "who", "filter", "why")
SPARE = ("why", "who", "begun")
"""Left out of a narrow terminal, in this order."""


@click.command("list")
@click.option("--limit", type=click.IntRange(1, 200), default=ROWS, show_default=True)
@app_option
@json_option
def list_(*, limit: int, app: str | None, as_json: bool) -> None:
    """Replays of many events, newest first."""
    jobs = run(_jobs(find_inbox(app), limit))
    if as_json:
        say_json({"jobs": [_fields(job) for job in jobs]})
    elif jobs:
        rows = [[_cells(job)[heading] for heading in HEADINGS] for job in jobs]
        say_table(HEADINGS, rows, whole=("job", "state"), spare=SPARE)
    else:
        say("no replay of many events")


@click.command()
@click.argument("job")
@app_option
@json_option
def show(*, job: str, app: str | None, as_json: bool) -> None:
    """One of them, by the first digits of its name."""
    found = run(_find(find_inbox(app), job))
    fields = _fields(found)
    if as_json:
        say_json(fields)
        return
    say_pairs(fields)
    if hint := _hint(found):
        say(f"\n{hint}")


@click.command()
@click.argument("job")
@why_option
@app_option
@json_option
def cancel(*, job: str, why: str, app: str | None, as_json: bool) -> int:
    """End one for good. What it has replayed already runs on."""
    found, was_running = run(_cancel(find_inbox(app), job, why))
    if as_json:
        say_json({"job": found.name, "cancelled": int(was_running), "replayed": found.replayed})
    elif was_running:
        say(f"cancelled; it had replayed {counted(found.replayed)}")
    else:
        say(f"it is {found.state} already")
    return 0 if was_running else NEGATIVE


@click.command()
@click.argument("job")
@click.option("--background", is_flag=True, help="A worker carries it out; this command returns at once.")
@why_option
@app_option
@json_option
def resume(*, job: str, background: bool, why: str, app: str | None, as_json: bool) -> int:
    """Go on with one that was interrupted, or that failed: from where it is, and no event is replayed twice by it."""
    inbox = find_inbox(app)
    found = run(_find(inbox, job))

    def go_on(archive: ports.Inbox, report: operations.Report) -> Awaitable[Job]:
        how = {"is_background": background, "clock": inbox.clock, "chance": inbox.chance, "report": report}
        return operations.resume(archive, found, who=operator(), why=why, **how)  # type: ignore[arg-type]

    return _carry_out(inbox, go_on, found.plan.total, is_background=background, as_json=as_json)


def replay_all(inbox: Inbox, chosen: Filter, plan: Plan, *, as_json: bool, skipping: str = "") -> int:
    def begin(archive: ports.Inbox, report: operations.Report) -> Awaitable[Job]:
        how = {"clock": inbox.clock, "chance": inbox.chance, "now": datetime.now(UTC), "report": report}
        return operations.replay_all(archive, chosen, plan, **how)  # type: ignore[arg-type]

    is_background = plan.is_background
    return _carry_out(inbox, begin, plan.total, skipping, is_background=is_background, as_json=as_json)


Carried = Callable[[ports.Inbox, operations.Report], Awaitable[Job]]


def _carry_out(
    inbox: Inbox, carried: Carried, total: int, skipping: str = "", *, is_background: bool, as_json: bool
) -> int:
    bar = _Bar(total, quiet=as_json)
    try:
        ended = run(bar.carry_out(inbox, carried))
    except KeyboardInterrupt:
        if bar.job is not None:
            done = f"stopped after {bar.job.replayed:,} of {total:,}"
            click.echo(f"\n{done}; go on with: landfast replay resume {bar.job.name}", err=True)
        return INTERRUPTED
    if as_json:
        say_json({"replayed": ended.replayed, "job": ended.name, "state": ended.state, "message": ended.message})
    elif is_background:
        say(f"job {ended.name}: a worker carries it out; landfast replay show {ended.name} says how far it is")
    elif ended.state is JobState.FINISHED:
        say(f"{ended.replayed:,} replayed{skipping if ended.replayed else ''}")
    else:
        what = f"{ended.state} after {ended.replayed:,} of {ended.plan.total:,}"
        click.echo(f"landfast: {what}{': ' if ended.message else ''}{safe(ended.message)}", err=True)
        click.echo(_hint(ended), err=True)
    return 0 if is_background or ended.state is JobState.FINISHED else NEGATIVE


class _Bar:
    def __init__(self, total: int, *, quiet: bool) -> None:
        self.job: Job | None = None
        self._total = total
        self._quiet = quiet

    async def carry_out(self, inbox: Inbox, carried: Carried) -> Job:
        console = Console(stderr=True)
        columns = (
            TextColumn("replaying"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[told]}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, disable=self._quiet or not console.is_terminal) as bar:
            task = bar.add_task("replaying", total=self._total, told="")

            def report(job: Job) -> None:
                self.job = job
                pace = bar.tasks[0].speed or 0.0
                told = f"{pace:,.0f}/s" if pace else ""
                if job.needs_canary and job.canaries:
                    told = f"waiting for the outcome of {counted(len(job.canaries))}"
                bar.update(task, completed=job.looked_at, told=told)

            async with inbox.archive() as archive:
                return await carried(archive, report)


def _hint(job: Job) -> str:
    if job.state in {JobState.STOPPED, JobState.FAILED}:
        return f"go on with: landfast replay resume {job.name}"
    if job.state is JobState.RUNNING and not job.is_carried:
        who = "no worker has taken it yet" if job.plan.is_background else "nobody carries it out now"
        return f"{who}; go on with: landfast replay resume {job.name}"
    return ""


def _fields(job: Job) -> dict[str, Any]:
    plan = job.plan
    return {
        "job": job.name,
        "state": job.state,
        "is_carried_out": job.is_carried,
        "replayed": job.replayed,
        "looked_at": job.looked_at,
        "total": plan.total,
        "filter": plan.terms,
        "who": plan.who,
        "why": plan.why,
        "forced": plan.forced,
        "handler": plan.only,
        "rate": plan.rate,
        "canary": plan.canary or None,
        "oldest_first": plan.oldest_first,
        "background": plan.is_background,
        "begun_at": job.created_at,
        "updated_at": job.updated_at,
        "message": job.message,
    }


def _cells(job: Job) -> dict[str, Any]:
    is_idle = job.state is JobState.RUNNING and not job.is_carried
    return _fields(job) | {
        "state": "waiting" if is_idle else job.state,
        "of": f"{job.plan.total:,}",
        "replayed": f"{job.replayed:,}",
        "begun": job.created_at,
    }


async def _jobs(inbox: Inbox, limit: int) -> list[Job]:
    async with inbox.archive() as archive:
        return list(await archive.jobs(limit=limit))


async def _find(inbox: Inbox, name: str) -> Job:
    async with inbox.archive() as archive:
        return await operations.find_job(archive, name)


async def _cancel(inbox: Inbox, name: str, why: str) -> tuple[Job, bool]:
    async with inbox.archive() as archive:
        job = await operations.find_job(archive, name)
        was_running = await operations.cancel(archive, job, who=operator(), why=why)
        return await operations.find_job(archive, job.name), was_running
