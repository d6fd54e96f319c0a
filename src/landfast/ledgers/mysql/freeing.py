"""Steps in an open transaction on MySQL: those that are freed, and the one that is performed."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.effect import FREED, HELD, WAITS, ClaimedEffect
from landfast.ledgers.mysql import rows
from landfast.ledgers.mysql.statements import Statements, change_all


async def free(statements: Statements, done: Sequence[tuple[str, int]]) -> None:
    """Those that waited for these, in one order: whoever frees the same ones waits."""
    named = [{"key": key, "run": run} for key, run in done]
    later = [row for each in named for row in await statements.fetch(rows.SQL["steps_after"], each)]
    states = {"waiting": WAITS.value, "free": FREED[0].value, "scheduled": FREED[1].value}
    freed = sorted((str(row["key"]), int(row["run"])) for row in later)
    await change_all(statements, "steps_free", [{"key": key, "run": run, **states} for key, run in freed])
    await change_all(statements, "waits_end", named)


async def held(statements: Statements, effect: ClaimedEffect) -> bool:
    """Whether it is still leased, and stays so until the end of the transaction."""
    named = {"key": effect.staged.key, "run": effect.staged.run, "token": effect.token, "held": HELD.value}
    return bool(await statements.fetch(rows.SQL["effects_hold"], named))
