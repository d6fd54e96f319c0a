"""`landfast alerts list|test|silence|unsilence`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from landfast.app import Inbox
from landfast.app.alerts import plan_of, sink_of
from landfast.cli import NEGATIVE
from landfast.cli.groups import ListsByDefault
from landfast.cli.options import app_option, find_inbox, json_option, moment, operator, run
from landfast.cli.output import safe, say, say_json, say_table, shown
from landfast.domain.alerts.alert import Alert, label, runbook
from landfast.domain.errors import ConfigError, LandfastError, UserError
from landfast.operations import alerts as operations
from landfast.operations.alerts import Listing, Tried


@click.group(cls=ListsByDefault)
def alerts() -> None:
    """What is wrong now, who is told of it, and who does not want to hear of it for a while."""


@alerts.command("list")
@click.option("--all", "with_resolved", is_flag=True, help="Those that were resolved lately, too.")
@app_option
@json_option
def list_(*, with_resolved: bool, app: str | None, as_json: bool) -> int:
    """Alerts that are firing, silences, and notices that a sink has not taken. Exit 1 while one is firing."""
    inbox = find_inbox(app)
    found = run(_listing(inbox))
    base = inbox.settings.alerts.runbooks
    if as_json:
        say_json(_fields(found, base, with_resolved=with_resolved))
        return NEGATIVE if found.firing else 0
    for alert in found.firing:
        _say_alert(alert, base, found)
    if not found.firing:
        say("no alert is firing")
    for one in found.silences:
        why = f": {safe(one.why)}" if one.why else ""
        say(f"silenced  {safe(label(one.name, one.subject))} until {shown(one.until)} by {safe(one.who)}{why}")
    for waiting in found.unsent:
        state = "given up" if waiting.given_up_at else f"tried {waiting.tries} times"
        say(f"not sent  {safe(waiting.message.sink)}: {state}: {safe(waiting.error)}")
    if with_resolved and found.resolved:
        rows = [(alert.label, alert.since, alert.resolved_at, alert.sentence) for alert in found.resolved]
        say_table(("resolved", "from", "until", "what it was"), rows, whole=("resolved",))
    return NEGATIVE if found.firing else 0


@alerts.command("test")
@app_option
@json_option
def test_(*, app: str | None, as_json: bool) -> int:
    """Send a test to every sink, and say what each answered. Exit 1 if one did not take it."""
    inbox = find_inbox(app)
    if not inbox.settings.alerts.sinks:
        raise UserError("alerts test: there is no sink; write one as [alerts.sinks.NAME] in landfast.toml")
    tried = [*_unusable(inbox), *run(_try(inbox))]
    if as_json:
        say_json({"sinks": [asdict(one) for one in tried]})
    else:
        for one in tried:
            say(f"{'ok' if one.is_taken else 'fail':<4}  {safe(one.sink)} ({one.kind}): {safe(one.answer)}")
    return 0 if all(one.is_taken for one in tried) else NEGATIVE


@alerts.command()
@click.argument("name", metavar="NAME[/SUBJECT]")
@click.option("--for", "lasting", metavar="AGE", required=True, help="How long: 30m, 2h, 7d.")
@click.option("--why", default="", help="For whoever wonders why nobody was told.")
@app_option
@json_option
def silence(*, name: str, lasting: str, why: str, app: str | None, as_json: bool) -> int:
    """Tell nobody of an alert for a while, or of one subject of it. It is still looked for, and listed."""
    inbox = find_inbox(app)
    until = run(_silence(inbox, name, _seconds(lasting, inbox.clock.now()), why))
    if as_json:
        say_json({"silenced": name, "until": until})
    else:
        say(f"silenced {safe(name)} until {shown(until)}; landfast alerts unsilence {safe(name)} ends it")
    return 0


@alerts.command()
@click.argument("name", metavar="NAME[/SUBJECT]")
@app_option
@json_option
def unsilence(*, name: str, app: str | None, as_json: bool) -> int:
    """End a silence."""
    was = run(_unsilence(find_inbox(app), name))
    if as_json:
        say_json({"unsilenced": name, "was_silenced": was})
    else:
        say(f"{safe(name)} is told again" if was else f"{safe(name)} was not silenced")
    return 0 if was else NEGATIVE


def _seconds(text: str, now: datetime) -> float:
    try:
        return (now - moment(text, now=now)).total_seconds()
    except UserError:
        raise UserError(f"alerts silence: --for takes an age such as 30m, 2h or 7d, not {text!r}") from None


def _say_alert(alert: Alert, base: str, found: Listing) -> None:
    now = max([alert.seen_at, *(one.at for one in found.silences)])
    is_silent = any(one.covers(alert.name, alert.subject, now) for one in found.silences)
    say(f"{alert.severity}  {safe(alert.label)}: {safe(alert.sentence)}")
    times = f"since {shown(alert.since)}, last found {shown(alert.seen_at)}"
    say(f"      {times}, told {alert.told} times{', silenced' if is_silent else ''}")
    say(f"      fix: {safe(alert.fix)}")
    say(f"      runbook: {safe(runbook(alert.name, base))}")


def _fields(found: Listing, base: str, *, with_resolved: bool) -> dict[str, Any]:
    told = {
        "firing": [_alert(alert, base) for alert in found.firing],
        "silences": [asdict(one) for one in found.silences],
        "unsent": [
            {
                "sink": one.message.sink,
                "notice": one.message.id,
                "incident": one.message.incident,
                "made_at": one.made_at,
                "tries": one.tries,
                "error": one.error,
                "given_up_at": one.given_up_at,
            }
            for one in found.unsent
        ],
    }
    return told | ({"resolved": [_alert(alert, base) for alert in found.resolved]} if with_resolved else {})


def _alert(alert: Alert, base: str) -> dict[str, Any]:
    return asdict(alert) | {"runbook": runbook(alert.name, base)}


def _unusable(inbox: Inbox) -> Sequence[Tried]:
    """Sinks whose settings or secrets are wrong: they are not even tried."""
    found = []
    for given in inbox.settings.alerts.sinks:
        try:
            sink_of(given, inbox.settings)
        except ConfigError as error:
            found.append(Tried(given.name, given.kind, is_taken=False, answer=str(error)))
    return found


async def _listing(inbox: Inbox) -> Listing:
    async with inbox.archive() as archive:
        return await operations.listing(archive)


async def _try(inbox: Inbox) -> Sequence[Tried]:
    try:
        async with inbox.archive() as archive:
            identity: bytes = await archive.identity()
    except LandfastError:
        identity = b""  # a sink can be tried before there is an inbox, and while it is away
    new_id = inbox.chance.bytes(16).hex()
    return await operations.try_sinks(plan_of(inbox.settings), now=inbox.clock.now(), inbox=identity, new_id=new_id)


async def _silence(inbox: Inbox, name: str, seconds: float, why: str) -> datetime:
    async with inbox.archive() as archive:
        return await operations.silence(archive, name, seconds=seconds, who=operator(), why=why)


async def _unsilence(inbox: Inbox, name: str) -> bool:
    async with inbox.archive() as archive:
        return await operations.unsilence(archive, name, who=operator())
