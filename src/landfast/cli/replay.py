"""`landfast replay`, of one event or of many."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.asking import confirm, confirm_many
from landfast.cli.groups import Commands
from landfast.cli.no_event import NoEventError
from landfast.cli.options import (
    app_option,
    find_inbox,
    json_option,
    note_unknown_source,
    operator,
    run,
    why_option,
)
from landfast.cli.output import say, say_json
from landfast.cli.rehearse import say_rehearsals
from landfast.cli.replay_jobs import cancel, list_, replay_all, resume, show
from landfast.config import nearest
from landfast.domain.errors import UserError
from landfast.domain.filter import Filter, joined
from landfast.domain.ids import HandlerName
from landfast.domain.job import CANARIES_AT_MOST, Plan
from landfast.domain.lifecycle import State
from landfast.domain.summary import EventSummary
from landfast.operations.one_event import must_have_content, replay_one
from landfast.recovery import replay as recovery
from landfast.recovery.find import find_event

SKIPPING = "; no handler that is done runs again: that takes --force, and writes a second time"
AGAIN = "with a second set of writes where it is done"


class _StartsByDefault(Commands):
    """`landfast replay FILTER` means `landfast replay start FILTER`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args[:1] and args[0] in ctx.help_option_names else self._started(args))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, self._started(args))

    def _started(self, args: list[str]) -> list[str]:
        return ["start", *args] if args and args[0] not in self.commands else args


EXAMPLES = """
\b
Examples:
  landfast replay evt_1A2b                   one event
  landfast replay error:KeyError --canary 5  all of them, if the first five go well
  landfast replay list                       what was replayed, by whom, and how far it came
"""


@click.group(cls=_StartsByDefault, epilog=EXAMPLES)
def replay() -> None:
    """Run events again, under their original key: landfast replay EVENT, or landfast replay FILTER. That is short for
    `replay start`, whose --help has the options. Many events are a job that can be looked at, cancelled and resumed."""


for _command in (list_, show, cancel, resume):
    replay.add_command(_command)


@replay.command()
@click.argument("what", metavar="EVENT | FILTER...", nargs=-1, required=True)
@click.option("--preview", is_flag=True, help="Only count.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Count, and run the handlers of a few in transactions that are rolled back: what would be written?",
)
@click.option("--sample", type=click.IntRange(1, 100), default=3, show_default=True, help="Events of a dry run.")
@click.option("--rate", type=click.FloatRange(0.1, 100_000), help="Events a second, at most.")
@click.option(
    "--canary",
    type=click.IntRange(0, CANARIES_AT_MOST),
    default=0,
    metavar="N",
    help="Replay N first, and the rest once each of them is done; stop if one fails.",
)
@click.option("--oldest-first", is_flag=True, help="In the order in which they came; otherwise newest first.")
@click.option("--handler", metavar="NAME", help="Run this handler alone; what the others came to stands.")
@click.option("--force", is_flag=True, help="Run handlers again that are done already: their writes happen once more.")
@click.option("--background", is_flag=True, help="A worker carries it out; this command returns at once.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@why_option
@app_option
@json_option
def start(*, what: tuple[str, ...], preview: bool, dry_run: bool, sample: int, **asked: object) -> int:
    """One event by its id, key or SOURCE/KEY, or all that match a filter (dead letters, unless it names a state).
    Handlers that are done are skipped, unless --force.

    Ctrl-C stops a replay of many between two events, and says how to go on.
    """
    order = _Order(**asked)  # type: ignore[arg-type]
    inbox = find_inbox(order.app)
    _check_handler(inbox, order.handler)
    if len(what) == 1 and ":" not in what[0]:
        return _one(inbox, what[0], order, preview=preview, dry_run=dry_run)
    now = datetime.now(UTC)
    chosen = recovery.wanted(joined(what), now=now)
    note_unknown_source(inbox, chosen)
    count = run(_count(inbox, chosen))
    if preview or dry_run:
        return _preview(inbox, chosen, count, order, sample=sample if dry_run else 0)
    if count and not order.yes:
        meant = f"Run them AGAIN, {AGAIN}" if order.force else "Run them"
        confirm_many("replay", count, str(chosen.state), verb="replay", meant=meant)
    if not count:
        _say({"replayed": 0}, "0 replayed", as_json=order.as_json)
        return 0
    skipping = SKIPPING if chosen.state is State.DONE and not order.force else ""
    return replay_all(inbox, chosen, order.plan(count), as_json=order.as_json, skipping=skipping)


class _Order:
    """The options that say how."""

    def __init__(
        self,
        *,
        rate: float | None,
        canary: int,
        oldest_first: bool,
        handler: str | None,
        force: bool,
        background: bool,
        yes: bool,
        why: str,
        app: str | None,
        as_json: bool,
    ) -> None:
        self.handler = None if handler is None else HandlerName(handler)
        self.force = force
        self.yes = yes
        self.why = why
        self.app = app
        self.as_json = as_json
        self._pace = {"rate": rate, "canary": canary, "oldest_first": oldest_first, "is_background": background}

    def plan(self, count: int) -> Plan:
        return Plan("", operator(), self.why, self.force, self.handler, total=count, **self._pace)  # type: ignore[arg-type]


def _check_handler(inbox: Inbox, name: HandlerName | None) -> None:
    known = [handler.name for handler in inbox.registry.handlers]
    if name is not None and known and name not in known:
        hint = nearest(name, known) or f"; there are {', '.join(known)}"
        raise UserError(f"replay: no handler is called {name!r}{hint}")


def _preview(inbox: Inbox, chosen: Filter, count: int, order: _Order, *, sample: int) -> int:
    rehearsals = say_rehearsals(inbox, chosen, order.handler, sample=sample, force=order.force, as_json=order.as_json)
    more = {"rehearsals": rehearsals} if sample else {}
    _say({"would_replay": count, **more}, f"{count:,} would be replayed", as_json=order.as_json)
    return 0


def _one(inbox: Inbox, name: str, order: _Order, *, preview: bool, dry_run: bool) -> int:
    found = run(_state_of(inbox, name))
    if found is None:
        raise NoEventError(name)
    if preview or dry_run:
        chosen = Filter(source=found.source, key=found.key)
        rehearsals = say_rehearsals(
            inbox, chosen, order.handler, sample=int(dry_run), force=order.force, as_json=order.as_json
        )
        more = {"rehearsals": rehearsals} if dry_run else {}
        fields = {"would_replay": 1, "state": found.state, **more}
        _say(fields, f"it is {found.state}; 1 would be replayed", as_json=order.as_json)
        return 0
    if order.force and not order.yes:
        refusal = f"--force runs what is done AGAIN, {AGAIN}; add --yes to do so without being asked"
        confirm("replay", f"It is {found.state}. Run it AGAIN, {AGAIN}?", refusal=refusal)
    replayed = run(_replay_one(inbox, found, order))
    skipping = SKIPPING if found.state is State.DONE and not order.force else ""
    _say(
        {"replayed": int(replayed), "state": found.state},
        f"replayed{skipping}" if replayed else f"it is {found.state}, on its way",
        as_json=order.as_json,
    )
    return 0 if replayed else NEGATIVE


async def _count(inbox: Inbox, chosen: Filter) -> int:
    async with inbox.archive() as archive:
        return await recovery.count(archive, chosen)


async def _state_of(inbox: Inbox, name: str) -> EventSummary | None:
    async with inbox.archive() as archive:
        record = await find_event(archive, name)
        if record is None:
            return None
        event = record.summary
        must_have_content(event)
        return event


async def _replay_one(inbox: Inbox, event: EventSummary, order: _Order) -> bool:
    async with inbox.archive() as archive:
        return await replay_one(archive, event, forced=order.force, only=order.handler, who=operator(), why=order.why)


def _say(fields: dict[str, object], text: str, *, as_json: bool) -> None:
    if as_json:
        say_json(fields)
    else:
        say(text)
