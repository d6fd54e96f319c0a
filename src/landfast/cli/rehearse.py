"""What `landfast replay --dry-run` says."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from landfast.app import Inbox
from landfast.cli.options import run
from landfast.cli.output import safe, say
from landfast.cli.reveal import rows_to_show
from landfast.domain.filter import Filter
from landfast.domain.ids import HandlerName
from landfast.domain.outcome import NextRun

NOTE = "rolled back: nothing was written, no effect performed, no attempt counted"


def say_rehearsals(
    inbox: Inbox, chosen: Filter, only: HandlerName | None, *, sample: int, force: bool, as_json: bool
) -> list[dict[str, Any]]:
    """What a few of them would do, said and told. Nothing where no handler is known: then only counting is left."""
    if not sample:
        return []
    if not inbox.registry.handlers:
        fix = "add --app module:inbox, or app = ... in landfast.toml"
        click.echo(f"landfast: note: no handler is known here, so none was run; {fix}", err=True)
        return []
    from landfast.app.rehearse import rehearse

    found = [
        {
            "event": event.event_id.hex(),
            "key": event.key,
            "type": event.type,
            "handlers": rows_to_show([asdict(one) for one in each], inbox, reveal=False),
        }
        for event, each in run(rehearse(inbox, chosen, NextRun(force, only), sample=sample))
    ]
    if not as_json:
        for event in found:
            _say_event(event)
        if found:
            say(NOTE)
    return found


def _say_event(event: dict[str, Any]) -> None:
    say(f"{event['event']}  {safe(event['key'])}  {safe(event['type'])}")
    for told in event["handlers"]:
        _say_handler(told)
    say()


def _say_handler(told: dict[str, Any]) -> None:
    name = safe(told["handler"]) or "(no handler)"
    if told["outcome"] == "skipped":
        say(f"  {name}: is done already, and would be skipped")
        return
    if told["outcome"] != "done":
        where = f" at {told['line']}" if told["line"] else ""
        say(f"  {name}: {told['outcome']}: {safe(told['error'])}{where}: {safe(told['message'])}")
    else:
        say(f"  {name}: would be done, in {told['seconds'] * 1000:,.0f} ms")
    for what in told["refused"]:
        say(f"    kept from it: {safe(what)}")
    _say_rows(told)
    for effect in told["effects"]:
        arguments = ", ".join(f"{name}: {kind}" for name, kind in effect["arguments"].items())
        say(f"    effect {safe(effect['name'])} under {effect['key']}: {safe(arguments) or 'no arguments'}")
    if told["result"] is not None:
        say(f"    returns {safe(str(told['result']))[:200]}")
    if told["trace"]:
        say("    " + safe(told["trace"], lines=True).rstrip().replace("\n", "\n    "))


def _say_rows(told: dict[str, Any]) -> None:
    if told["rows"] is None:
        say("    rows: this ledger's database does not count them; it was sent")
        for statement in told["statements"]:
            say(f"      {safe(statement)}")
    for rows in told["rows"] or ():
        counts = {"inserted": rows["inserted"], "updated": rows["updated"], "deleted": rows["deleted"]}
        say(f"    {safe(rows['table'])}: " + ", ".join(f"{count:,} {verb}" for verb, count in counts.items() if count))
    if told["outcome"] == "done" and told["rows"] == () and not told["effects"]:
        say("    writes nothing")
