"""`landfast resume`."""

from __future__ import annotations

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, run
from landfast.cli.output import counted, safe, say, say_json
from landfast.cli.pause import kind_of, kind_options
from landfast.domain.switch import SwitchKind
from landfast.recovery import switches


@click.command()
@click.argument("name", metavar="SOURCE | HANDLER")
@kind_options
@app_option
@json_option
def resume(*, name: str, kind: SwitchKind | None, app: str | None, as_json: bool) -> int:
    """Go on processing a source or a handler that was paused, beginning with what has waited."""
    found, resumed = run(_resume(find_inbox(app), name, kind, app))
    if as_json:
        say_json({"resumed": name if resumed is not None else None, "kind": found, "events": resumed or 0})
    elif resumed is None:
        click.echo(f"landfast: {found} {safe(name)} is not paused; see landfast pause", err=True)
    else:
        say(f"resumed {found} {safe(name)}: {counted(resumed)} that waited {'is' if resumed == 1 else 'are'} ready")
    return NEGATIVE if resumed is None else 0


async def _resume(inbox: Inbox, name: str, kind: SwitchKind | None, app: str | None) -> tuple[SwitchKind, int | None]:
    async with inbox.archive() as archive:
        found = kind_of(inbox, name, kind, app=app, thrown=await switches.paused(archive))
        return found, await switches.resume(archive, found, name)
