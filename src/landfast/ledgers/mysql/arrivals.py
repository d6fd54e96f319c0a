"""Arrivals in an open transaction on MySQL, whoever's connection it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from landfast.domain.arrival import Arrived
from landfast.domain.effect import ARRIVED, WAITS, StagedEffect
from landfast.ledgers import meeting
from landfast.ledgers.meeting import Ended, Known
from landfast.ledgers.mysql import rows
from landfast.ledgers.mysql.freeing import free
from landfast.ledgers.mysql.statements import Statements


async def lock(
    statements: Statements, effects: Sequence[StagedEffect], wanted: Mapping[str, str | None]
) -> Sequence[Ended]:
    """Before the effects are staged, what `meeting.to_lock` says. Those of them that need not wait."""
    given = [{"key": key, "event": event} for key, event in wanted.items()]
    await statements.execute(*rows.for_each("arrivals_lock", given))
    known: dict[str, Known] = {}
    for each in given:
        (row,) = await statements.fetch(rows.SQL["arrivals_locked"], {"key": each["key"]})
        known[row["key"]] = Known(row["event"], None if row["age"] is None else float(row["age"]))
    return meeting.come_already(effects, known)


async def end(statements: Statements, ended: Sequence[Ended], arrivals: Sequence[Arrived]) -> None:
    """After they were staged: these, and all that stand for what has come."""
    given = {(each.key, each.run): each for each in ended}
    for key, event in sorted(dict(arrivals).items()):
        for row in await statements.fetch(rows.SQL["arrivals_awaited"], {"key": key}):
            given[row["key"], row["run"]] = Ended(row["key"], row["run"], meeting.came(event))
    states = {"done": ARRIVED.value, "waiting": WAITS.value}
    for _, each in sorted(given.items()):
        if await statements.execute(rows.SQL["arrivals_end"], each._asdict() | states):
            await free(statements, [(each.key, each.run)])
