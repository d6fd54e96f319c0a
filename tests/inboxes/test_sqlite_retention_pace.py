"""How long a step of retention keeps others from writing: few statements, and no more events than fit into its time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from landfast.domain.errors import InboxUnavailableError
from landfast.domain.retention import Ages, Retention
from landfast.inboxes.sqlite import retention
from landfast.testing.factory import delivery
from tests.inboxes.sqlite_bench import SqliteBench
from tests.inboxes.sqlite_passes import ALL_LINES, HOLDER, YEAR, done

pytestmark = pytest.mark.req("R43")

EVENTS = 600


async def steps(bench: SqliteBench, ages: Retention, *, within: Callable[[str], None]) -> list[int]:
    """How many events each step removed; `within` is told each statement that is made under the lock."""
    await done(bench.inbox, [f"event {number}" for number in range(EVENTS)])
    await bench.advance(YEAR)
    is_locked = False

    def traced(_cursor: Any, sql: str, _bindings: Any) -> bool:
        nonlocal is_locked
        if is_locked:
            within(sql)
        is_locked = (is_locked or sql == "BEGIN IMMEDIATE") and sql != "COMMIT"
        return True

    bench.inbox._file.connection(durable=False).exec_trace = traced
    assert await bench.inbox.take_retention_turn(HOLDER, every=0, lasting=3600)
    removed = []
    while (step := await bench.inbox.retain(ages, holder=HOLDER, proven=ALL_LINES)) is not None:
        removed.append(sum(count.events + count.bodies for count in step.counts.values()))
    return [count for count in removed if count]


@pytest.mark.parametrize("ages", [Retention(), Retention(Ages(memory=9 * YEAR))], ids=["all of it", "content"])
async def test_a_step_makes_as_few_statements_for_many_events_as_for_one(bench: SqliteBench, ages: Retention) -> None:
    """Each is a moment at which a handler of the same process can keep Python, and with it the lock, for 5 ms."""
    statements: list[str] = []
    assert await steps(bench, ages, within=statements.append) == [retention.REMOVED_AT_ONCE] * 4
    assert len(statements) < EVENTS / 4


async def test_a_step_that_held_the_lock_for_long_is_followed_by_smaller_ones(bench: SqliteBench) -> None:
    slow = 2

    def take_long(sql: str) -> None:
        nonlocal slow
        if slow and "json_each(:old)" in sql:  # once in each step that removes something
            slow -= 1
            bench.clock.advance(1.0)

    most = retention.REMOVED_AT_ONCE
    found = await steps(bench, Retention(), within=take_long)
    assert found[:4] == [most, most // 2, retention.REMOVED_AT_LEAST, 2 * retention.REMOVED_AT_LEAST]
    assert sum(found) == EVENTS


async def test_while_one_is_alone_others_wait_and_lose_nothing(bench: SqliteBench) -> None:
    other = await bench.another()
    async with bench.inbox.alone():
        assert (await bench.inbox.record([delivery("ours")]))[0].is_new
        with pytest.MonkeyPatch.context() as impatient:
            impatient.setattr("landfast.inboxes.sqlite.thread.PATIENCE", 0.05)
            with pytest.raises(InboxUnavailableError):
                await other.record([delivery("theirs")])
    assert (await other.record([delivery("theirs")]))[0].is_new
    assert not bench.path.with_name(f"{bench.path.name}-wal").stat().st_size > 1_000_000
