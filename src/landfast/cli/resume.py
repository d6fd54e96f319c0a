"""`landfast resume`."""

from __future__ import annotations

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, operator, run, why_option
from landfast.cli.output import counted, safe, say, say_json
from landfast.cli.pause import kind_of, kind_options
from landfast.domain.switch import SwitchKind
from landfast.operations import switching
from landfast.recovery import switches


@click.command()
@click.argument("name", metavar="SOURCE | HANDLER | DEPENDENCY")
@kind_options
@why_option
@app_option
@json_option
def resume(*, name: str, kind: SwitchKind | None, why: str, app: str | None, as_json: bool) -> int:
    """Go on with a source, a handler or a dependency that was paused, beginning with what has waited.

    It says how many events workers had put aside because of the pause. Events that no worker had come to yet are not
    among them: they were ready all the time, and run now, too.
    """
    found, resumed = run(_resume(find_inbox(app), name, kind, app, why))
    if as_json:
        say_json({"resumed": name if resumed is not None else None, "kind": found, "events": resumed or 0})
    elif resumed is None:
        click.echo(f"landfast: {found} {safe(name)} is not paused; see landfast pause", err=True)
    else:
        aside = f"{counted(resumed)} had been put aside and can run now" if resumed else "no event had been put aside"
        say(f"resumed {found} {safe(name)}: {aside}; what comes in runs again")
    return NEGATIVE if resumed is None else 0


async def _resume(
    inbox: Inbox, name: str, kind: SwitchKind | None, app: str | None, why: str
) -> tuple[SwitchKind, int | None]:
    async with inbox.archive() as archive:
        found = kind_of(inbox, name, kind, app=app, thrown=await switches.paused(archive))
        return found, await switching.resume(archive, found, name, who=operator(), why=why)
