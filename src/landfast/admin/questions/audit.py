"""The operator log: who changed what by hand, when and why, and whether anybody has tampered with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, Rows
from landfast.admin.route import Nothing
from landfast.domain.errors import LandfastError
from landfast.domain.filter import in_utc
from landfast.domain.operator_log import Action
from landfast.operations import operator_log
from landfast.operations.operator_log import Operation, Verified


class AuditAsked(Asked):
    action: Action | None = None
    since: datetime | None = None
    limit: Rows = 50


class OperationView(Answered):
    line: int
    at: datetime
    who: str
    host: str
    action: str
    why: str
    what: Mapping[str, Any]
    """What was asked for."""
    ended_at: datetime | None
    """None while it goes on, and for ever where whoever asked died."""
    result: str
    """done, failed, or empty."""
    came_to: Mapping[str, Any]


class AuditPage(Answered):
    operations: Sequence[OperationView]
    """Newest first."""


class AuditVerified(Answered):
    is_intact: bool
    lines: int
    digest: str | None
    """Of the last line: written down elsewhere, it proves later that nothing was cut."""
    problem: str
    known_to_the_ledger: int | None
    ledger_problem: str
    """Why the ledger was not asked; empty where it was."""


async def audit(desk: Desk, asked: AuditAsked) -> AuditPage:
    """What operators changed by hand, newest first."""
    since = None if asked.since is None else in_utc(asked.since, "since")
    found = await operator_log.latest(desk.archive, limit=asked.limit, since=since, action=asked.action)
    return AuditPage(operations=[_view(one) for one in found])


async def verify(desk: Desk, _asked: Nothing) -> AuditVerified:
    """Whether no line of the operator log was changed, removed, added or moved."""
    found, problem = await _verified(desk)
    return AuditVerified(
        is_intact=not found.problem,
        lines=found.lines,
        digest=found.digest.hex() if found.digest else None,
        problem=found.problem,
        known_to_the_ledger=found.anchored,
        ledger_problem=problem,
    )


async def _verified(desk: Desk) -> tuple[Verified, str]:
    """An inbox alone can be checked, too: what the ledger knows is one more witness."""
    try:
        stores = await desk.stores()
        return await operator_log.verify(stores.inbox, ledger=stores.ledger, inbox=stores.identity), ""
    except LandfastError as error:
        return await operator_log.verify(desk.archive), str(error)


def _view(one: Operation) -> OperationView:
    entry, ended = one.asked.entry, one.ended
    return OperationView(
        line=one.asked.seq,
        at=one.asked.at,
        who=entry.who,
        host=entry.host,
        action=entry.action,
        why=entry.why,
        what=json.loads(entry.what),
        ended_at=ended.at if ended else None,
        result=ended.entry.step if ended else "",
        came_to=json.loads(ended.entry.what) if ended else {},
    )
