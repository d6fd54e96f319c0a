"""`landfast pause`, and how `landfast resume` finds what is meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import click

from landfast.app import Inbox
from landfast.cli.options import app_option, find_inbox, json_option, operator, run, without_app
from landfast.cli.output import safe, say, say_json, say_table
from landfast.config import nearest
from landfast.domain.errors import UserError
from landfast.domain.switch import Switch, SwitchKind
from landfast.operations import switching
from landfast.processing.handlers.registry import Handler
from landfast.recovery import switches

F = TypeVar("F", bound=Callable[..., Any])


def kind_options(function: F) -> F:
    """For a name that several have: a source, a handler, a dependency."""
    for option in ("--source", "--handler", "--dependency"):
        kind = SwitchKind(option[2:])
        function = click.option(option, "kind", flag_value=kind, type=SwitchKind, help=f"It is a {kind}.")(function)
    return function


@click.command()
@click.argument("name", metavar="[SOURCE | HANDLER | DEPENDENCY]", required=False)
@click.option("--why", default="", metavar="TEXT", help="For whoever finds it paused.")
@click.option("--now", is_flag=True, help="Take back what workers have in hand, too; no attempt is counted.")
@kind_options
@app_option
@json_option
def pause(*, name: str | None, why: str, now: bool, kind: SwitchKind | None, app: str | None, as_json: bool) -> int:
    """Stop processing a source or a handler, or calling a dependency; without a name, list what is paused.

    Its events are still acknowledged and kept; they wait until landfast resume, and lose no attempt. Workers hear of
    it within a second. What a handler runs then is finished, and effects that are staged are performed. With --now it
    is cancelled, and its transaction rolled back; what is committed stays done. While a dependency is paused, effects
    that use it wait, too.
    """
    inbox = find_inbox(app)
    if name is None:
        _list(run(_paused(inbox)), as_json=as_json)
        return 0
    kind = kind_of(inbox, name, kind, app=app)
    before = run(_pause(inbox, kind, name, why, now=now))
    threads = _in_threads(inbox, kind, name) if now else []
    if as_json:
        say_json({"paused": name, "kind": kind} | ({"now": True, "not_cancelled": threads} if now else {}))
    elif before is not None and not why and not now:
        told = f" ({safe(before.why)})" if before.why else ""
        say(f"{kind} {safe(name)} is paused already, by {safe(before.who)}{told}; landfast resume {safe(name)} ends it")
    else:
        is_taken_back = now and not (threads and kind is SwitchKind.HANDLER)
        back = "workers give back what they have in hand within about a second; " if is_taken_back else ""
        kept = f"its events are still taken in, and wait; landfast resume {safe(name)} lets them run"
        say(f"paused {kind} {safe(name)}: {back}{kept}")
    if threads and not as_json:
        say(f"not cancelled, because a thread cannot be, and finished instead: {', '.join(map(safe, threads))}")
    return 0


def kind_of(
    inbox: Inbox, name: str, kind: SwitchKind | None, *, app: str | None, thrown: Sequence[Switch] = ()
) -> SwitchKind:
    """Whether a source, a handler or a dependency is meant. One that is switched off may be in the code no longer."""
    known: dict[SwitchKind, set[str]] = {
        SwitchKind.SOURCE: {*inbox.sources},
        SwitchKind.HANDLER: {handler.name for handler in inbox.registry.handlers},
        SwitchKind.DEPENDENCY: {*inbox.registry.used},
    }
    for switch in thrown:
        known[switch.kind].add(switch.name)
    found = [each for each in known if name in known[each] and kind in {None, each}]
    if len(found) == 1:
        return found[0]
    if found:
        kinds, options = (f"{join}".join(map(str, found)) for join in (" and a ", " or --"))
        raise UserError(f"{name}: there is a {kinds} of this name; say which with --{options}")
    wanted = [word for each in known for word in sorted(known[each]) if kind in {None, each}]
    what = kind or "source, handler or dependency"
    hint = nearest(name, wanted) or (f"; there are {', '.join(wanted)}" if wanted else "")
    raise UserError(f"there is no {what} {name!r}{hint}{without_app(app)}")


def _list(paused: Sequence[Switch], *, as_json: bool) -> None:
    if as_json:
        say_json({"paused": [asdict(switch) for switch in paused]})
    elif paused:
        rows = [(switch.kind, switch.name, switch.at, switch.who, switch.why) for switch in paused]
        say_table(("kind", "name", "since", "by", "why"), rows, whole=("kind", "name", "since"))
    else:
        say("nothing is paused")


async def _paused(inbox: Inbox) -> Sequence[Switch]:
    async with inbox.archive() as archive:
        return await switches.paused(archive)


def _in_threads(inbox: Inbox, kind: SwitchKind, name: str) -> list[str]:
    """The handlers of it that are `def` and not `async def`."""

    def is_meant(one: Handler) -> bool:
        if kind is SwitchKind.DEPENDENCY:
            return name in one.uses
        return name == (one.source if kind is SwitchKind.SOURCE else one.name)

    return [one.name for one in inbox.registry.handlers if is_meant(one) and not one.is_async]


async def _pause(inbox: Inbox, kind: SwitchKind, name: str, why: str, *, now: bool) -> Switch | None:
    async with inbox.archive() as archive:
        return await switching.pause(archive, kind, name, who=operator(), why=why, now=now)
