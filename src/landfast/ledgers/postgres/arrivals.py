"""Arrivals in an open transaction on PostgreSQL, whoever's connection it is."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.arrival import Arrived
from landfast.domain.effect import ARRIVED, ARRIVES, FREED, WAITS, StagedEffect
from landfast.ledgers import meeting
from landfast.ledgers.meeting import Ended, Known
from landfast.ledgers.postgres import rows, settings
from landfast.ledgers.postgres.wire import Wire


async def lock(wire: Wire, effects: Sequence[StagedEffect], arrivals: Sequence[Arrived]) -> Sequence[Ended]:
    """Before the effects are staged. Those of them that need not wait."""
    wanted = meeting.to_lock(effects, arrivals)
    if not wanted:
        return []
    await wire.send([settings.WAIT])
    found = await wire.fetch(rows.SQL["arrivals_lock"], [*wanted], [*wanted.values()])
    return meeting.come_already(effects, {row["key"]: Known(row["event"], row["age"]) for row in found})


async def end(wire: Wire, ended: Sequence[Ended], arrivals: Sequence[Arrived]) -> None:
    """After they were staged: these, and all that stand for what has come."""
    given = {(each.key, each.run): each.result for each in ended}
    if arrivals:
        columns = rows.columns([*dict(arrivals).items()], width=2)
        found = await wire.fetch(rows.SQL["arrivals_awaited"], *columns)
        given |= {(row["key"], row["run"]): meeting.came(row["event"]) for row in found}
    if not given:
        return
    named = rows.columns([(*key, result) for key, result in sorted(given.items())], width=3)
    states = sorted(state.value for state in ARRIVES)
    done = await wire.fetch(rows.SQL["arrivals_end"], *named, states, ARRIVED.value)
    keys = rows.columns(sorted((row["key"], row["run"]) for row in done), width=2)
    await wire.execute(rows.SQL["steps_free"], *keys, WAITS, *FREED)
    await wire.execute(rows.SQL["waits_end"], *keys)
