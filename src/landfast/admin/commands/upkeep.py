"""Effects that died, alerts that nobody wants to hear of, and a pass of retention."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, Name, Why
from landfast.admin.problems import AdminError
from landfast.admin.questions.retention import Removal, removals
from landfast.admin.route import Nothing
from landfast.domain.access import Operator
from landfast.domain.errors import UserError
from landfast.operations import alerts, effects
from landfast.operations.retention import run_pass


class BusyError(AdminError):
    """Somebody else is at it."""

    status, title = 409, "Under way"


class RetryEffects(Asked):
    keys: Annotated[Sequence[Name], msgspec.Meta(max_length=1000)] = ()
    is_all: bool = False
    """Every dead one, in place of keys."""
    why: Why = ""


class Retried(Answered):
    retried: int


class SkipEffect(Asked):
    key: Name
    """Or the first 6 characters of it or more."""
    result: Annotated[str, msgspec.Meta(max_length=60_000)] = ""
    """What the steps are given that take what it returns, as JSON."""
    why: Why = ""


class SkippedEffect(Answered):
    skipped: bool
    """False where it was not dead."""
    problem: str
    """Why it was not skipped; empty where it was."""


class SilenceAlert(Asked):
    alert: Name
    """NAME or NAME/SUBJECT, such as failing-handler/create_order."""
    seconds: Annotated[float, msgspec.Meta(gt=0, le=90 * 86_400)]
    why: Why = ""


class Silenced(Answered):
    until: datetime


class UnsilenceAlert(Asked):
    alert: Name


class Unsilenced(Answered):
    was_silenced: bool


class RetentionRun(Answered):
    removed: Sequence[Removal]
    receipts: int
    effects: int
    bytes_freed: int
    looked_at: int
    held_back: int
    """Not proven yet, and so they stay."""
    unproven: int
    """Done without their receipts, so that they stay, and what became done after them."""
    is_complete: bool


async def retry_effects(desk: Desk, asked: RetryEffects, by: Operator) -> Retried:
    """Perform dead effects again, under the same idempotency key, with fresh attempts."""
    if bool(asked.keys) == asked.is_all:
        raise UserError("keys: give the keys of the effects, or is_all")
    stores = await desk.stores()
    retried, _ = await effects.retry(stores.inbox, stores.ledger, asked.keys, who=by.name, why=asked.why)
    return Retried(retried=retried)


async def skip_effect(desk: Desk, asked: SkipEffect, by: Operator) -> SkippedEffect:
    """Have the steps after a dead effect go on without it: it is done, and never performed again."""
    result = effects.given_instead(asked.result) if asked.result.strip() else None
    stores = await desk.stores()
    places = stores.inbox, stores.ledger
    skipped, state = await effects.skip(*places, asked.key, result=result, who=by.name, why=asked.why)
    return SkippedEffect(skipped=skipped, problem="" if skipped else effects.why_not_skipped(state))


async def silence(desk: Desk, asked: SilenceAlert, by: Operator) -> Silenced:
    """Tell nobody of an alert for a while. It is still looked for, and listed."""
    until = await alerts.silence(desk.archive, asked.alert, seconds=asked.seconds, who=by.name, why=asked.why)
    return Silenced(until=until)


async def unsilence(desk: Desk, asked: UnsilenceAlert, by: Operator) -> Unsilenced:
    """Tell of an alert again."""
    return Unsilenced(was_silenced=await alerts.unsilence(desk.archive, asked.alert, who=by.name))


async def run_retention(desk: Desk, _asked: Nothing, by: Operator) -> RetentionRun:
    """Remove now what is old enough, in both databases."""
    stores = await desk.stores()
    made = await run_pass(
        stores.inbox,
        stores.ledger,
        desk.inbox.retention,
        identity=stores.identity,
        clock=desk.inbox.clock,
        chance=desk.inbox.chance,
        who=by.name,
    )
    if made is None:
        raise BusyError("another pass is under way, on this machine or another")
    return RetentionRun(
        removed=removals(made.counts),
        receipts=made.receipts,
        effects=made.effects,
        bytes_freed=made.bytes_freed,
        looked_at=made.looked_at,
        held_back=made.held_back,
        unproven=made.unproven,
        is_complete=made.is_complete,
    )
