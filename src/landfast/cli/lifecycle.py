"""`landfast lifecycle show|state`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.groups import Commands
from landfast.cli.options import app_option, find_inbox, json_option, run, without_app
from landfast.cli.output import safe, say, say_json, say_table
from landfast.config import nearest
from landfast.domain.errors import UserError
from landfast.domain.machine import Machine
from landfast.operations.entity_states import EntityState, states_of
from landfast.operations.lifecycle_diagram import as_svg, as_text

HEADINGS = ("source", "lifecycle", "state", "waiting")


@click.group(cls=Commands)
def lifecycle() -> None:
    """Lifecycles as they are declared, and the states that entities are in."""


@lifecycle.command()
@click.argument("name")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write a drawing to this file.")
@app_option
@json_option
def show(*, name: str, svg: Path | None, app: str | None, as_json: bool) -> int:
    """The states of a lifecycle, which may follow which, and the types that lead there."""
    machine = _machine(find_inbox(app), name, app)
    if svg is not None:
        try:
            svg.write_text(as_svg(machine), "utf-8")
        except OSError as error:
            raise UserError(f"--svg: {error}") from error
    if as_json:
        transitions = {state: list(follow) for state, follow in machine.transitions.items()}
        fields = {"name": machine.name, "states": list(machine.states), "transitions": transitions}
        then = "run" if machine.runs_at_deadline else "dead"
        say_json({**fields, "types": dict(machine.types), "deadline": machine.deadline, "on_deadline": then})
    else:
        for line in as_text(machine):
            say(safe(line))
    return 0


@lifecycle.command()
@click.argument("entity")
@click.option("--lifecycle", "name", help="Of this one alone.")
@app_option
@json_option
def state(*, entity: str, name: str | None, app: str | None, as_json: bool) -> int:
    """The state that an entity is in, in each lifecycle that has seen it, and how many events wait for it to move. One
    that has only been waited for is absent. Exits with 1 if no lifecycle has seen it."""
    inbox = find_inbox(app)
    machines = [*inbox.registry.machines.values()] if name is None else [_machine(inbox, name, app)]
    if not machines:
        raise UserError(f"no lifecycle is declared{without_app(app)}")
    found = run(_states(inbox, entity, machines))
    if as_json:
        say_json({"states": [dict(zip(HEADINGS, each, strict=True)) for each in found]})
    elif found:
        say_table(HEADINGS, found)
    else:
        say(f"no lifecycle has seen {safe(entity)!r}")
    return 0 if found else NEGATIVE


def _machine(inbox: Inbox, name: str, app: str | None) -> Machine:
    machines = inbox.registry.machines
    if name not in machines:
        hint = nearest(name, machines) or (f"; there are {', '.join(machines)}" if machines else without_app(app))
        raise UserError(f"there is no lifecycle {name!r}{hint}")
    return machines[name]


async def _states(inbox: Inbox, entity: str, machines: Sequence[Machine]) -> list[EntityState]:
    names = {machine.name for machine in machines}
    async with inbox.stores() as stores:
        return await states_of(stores.inbox, stores.ledger, stores.identity, inbox.registry.handlers, entity, names)
