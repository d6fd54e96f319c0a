"""How long a step of retention keeps others from writing: a few events, and few statements."""

from __future__ import annotations

from typing import Any

import pytest

from landfast.domain.errors import InboxUnavailableError
from landfast.domain.retention import Ages, Retention
from landfast.inboxes.sqlite import retention
from landfast.testing.factory import delivery
from tests.inboxes.sqlite_bench import SqliteBench
from tests.inboxes.sqlite_passes import ALL_LINES, HOLDER, YEAR, done

pytestmark = pytest.mark.req("R43")

EVENTS = 100


async def steps(bench: SqliteBench, ages: Retention, prefix: str) -> list[tuple[int, int]]:
    """How many events each step removed, and how many statements it made under the lock for it."""
    await done(bench.inbox, [f"{prefix} {number}" for number in range(EVENTS)])
    await bench.advance(YEAR)
    is_locked, statements = False, 0

    def traced(_cursor: Any, sql: str, _bindings: Any) -> bool:
        nonlocal is_locked, statements
        statements += is_locked
        is_locked = (is_locked or sql == "BEGIN IMMEDIATE") and sql != "COMMIT"
        return True

    bench.inbox._file.connection(durable=False).exec_trace = traced
    assert await bench.inbox.take_retention_turn(HOLDER, every=0, lasting=3600)
    made = []
    while (step := await bench.inbox.retain(ages, holder=HOLDER, proven=ALL_LINES)) is not None:
        made.append((sum(count.events + count.bodies for count in step.counts.values()), statements))
        statements = 0
    return [step for step in made if step[0]]


@pytest.mark.parametrize("ages", [Retention(), Retention(Ages(memory=9 * YEAR))], ids=["all of it", "content"])
async def test_a_step_removes_a_few_events_with_as_many_statements_as_it_would_one(
    bench: SqliteBench, monkeypatch: pytest.MonkeyPatch, ages: Retention
) -> None:
    """Each is a moment at which a handler of the same process can keep Python, and with it the lock, for 5 ms."""
    few = await steps(bench, ages, "few")
    assert [removed for removed, _ in few] == [retention.REMOVED_AT_ONCE] * (EVENTS // retention.REMOVED_AT_ONCE)
    monkeypatch.setattr(retention, "REMOVED_AT_ONCE", 1)
    each = await steps(bench, ages, "each")
    assert [removed for removed, _ in each] == [1] * EVENTS
    assert max(statements for _, statements in few) <= max(statements for _, statements in each) < 25


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
