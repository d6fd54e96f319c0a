"""Newest only: an event is passed over once a newer one of its entity is done."""

from __future__ import annotations

from typing import Any

import pytest

from landfast.domain.errors import UserError
from landfast.domain.event import Event
from landfast.domain.lifecycle import State
from landfast.domain.verdict import GiveUp
from tests.processing.entities import ran, send, write
from tests.processing.shop import Shop

pytestmark = pytest.mark.req("R27")


async def outcome(shop: Shop, key: str) -> tuple[State, str, list[str]]:
    """What its last line of history says."""
    record = await shop.show(key)
    line = record.history[-1]
    return record.summary.state, line.reason, [attempt.outcome for attempt in line.attempts]


SUPERSEDED = (State.DONE, "superseded", ["superseded"])
DONE = (State.DONE, "", ["done"])


async def test_an_older_event_that_comes_later_is_superseded(shop: Shop) -> None:
    shop.on("*", newest_only=True)(write)
    await send(shop, "new", "sub.updated", "sub_1", second=9)
    await shop.drain()
    await send(shop, "old", "sub.updated", "sub_1", second=3)
    await send(shop, "other", "sub.updated", "sub_2", second=1)
    await shop.drain()
    assert await ran(shop) == ["new", "other"]
    assert [await outcome(shop, key) for key in ("new", "old", "other")] == [DONE, SUPERSEDED, DONE]


async def test_of_a_backlog_only_the_newest_runs(shop: Shop) -> None:
    shop.on("*", newest_only=True)(write)
    for second in (1, 3, 9, 5):
        await send(shop, f"evt_{second}", "sub.updated", "sub_1", second=second)
    await shop.drain()
    assert await ran(shop) == ["evt_1", "evt_9"], "the first is a group of its own"
    assert [await outcome(shop, f"evt_{second}") for second in (3, 5)] == [SUPERSEDED] * 2


async def test_of_two_that_tie_both_run(shop: Shop) -> None:
    shop.on("*", newest_only=True)(write)
    for key in ("evt_1", "evt_2"):
        await send(shop, key, "sub.updated", "sub_1", second=3)
        await shop.drain()
    assert await ran(shop) == ["evt_1", "evt_2"]


async def test_a_newer_event_that_fails_supersedes_nothing(shop: Shop) -> None:
    @shop.on("*", newest_only=True)
    async def handle(event: Event, tx: Any) -> None:
        await write(event, tx)
        if event.key == "new":
            raise GiveUp("no")

    await send(shop, "new", "sub.updated", "sub_1", second=9)
    await shop.drain()
    await send(shop, "old", "sub.updated", "sub_1", second=3)
    await shop.drain()
    assert await ran(shop) == ["old"]
    assert (await shop.state("new"), await outcome(shop, "old")) == (State.DEAD, DONE)


async def test_in_one_group_a_failure_leaves_the_mark_to_the_others(shop: Shop) -> None:
    @shop.on("*", newest_only=True)
    async def handle(event: Event, tx: Any) -> None:
        await write(event, tx)
        if event.key == "evt_9":
            raise GiveUp("no")

    for second in (1, 5, 9, 3):
        await send(shop, f"evt_{second}", "sub.updated", "sub_1", second=second)
    await shop.drain()
    assert await ran(shop) == ["evt_1", "evt_5"], "the first is a group of its own"
    assert await outcome(shop, "evt_3") == SUPERSEDED


async def test_versions_compare_as_numbers_and_as_times(shop: Shop) -> None:
    shop.on("n.*", newest_only="object.version", name="numbers")(write)
    shop.on("t.*", newest_only="object.at", name="times")(write)
    for key, version in (("n10", 10), ("n9", 9), ("n10.5", 10.5), ("n8", "8"), ("none", None), ("words", "x")):
        await send(shop, key, "n.updated", "sub_1", second=0, object={"version": version})
        await shop.drain()
    for key, at in (
        ("t2", "2026-01-02T00:00:00Z"),
        ("t1", "2026-01-01T23:59:59.999+00:00"),
        ("t3", "2026-01-02T01:30:00+01:00"),
    ):
        await send(shop, key, "t.updated", "sub_1", second=0, object={"at": at})
        await shop.drain()
    assert await ran(shop) == ["n10", "n10.5", "none", "words", "t2", "t3"]
    assert [await outcome(shop, key) for key in ("n9", "n8", "t1")] == [SUPERSEDED] * 3


async def test_a_version_that_is_too_large_for_one_costs_its_event_no_attempt(shop: Shop) -> None:
    shop.on("*", newest_only="object.version", attempts=1)(write)
    for key, version in (("new", 9), ("1e1000000", "1e1000000"), ("1e999990", "-1e999990"), ("old", 8)):
        await send(shop, key, "n.updated", "sub_1", second=0, object={"version": version})
        await shop.drain()
    assert await ran(shop) == ["new", "1e1000000", "1e999990"]
    assert await outcome(shop, "old") == SUPERSEDED


@pytest.mark.parametrize(("entity", "second"), [(None, 1.0), ("sub_1", None)])
async def test_an_event_that_does_not_say_what_it_is_about_or_when_runs_like_any_other(
    shop: Shop, entity: str | None, second: float | None
) -> None:
    shop.on("*", newest_only=True)(write)
    await send(shop, "new", "sub.updated", "sub_1", second=9)
    await shop.drain()
    await send(shop, "blank", "sub.updated", entity, second=second)
    await send(shop, "old", "sub.updated", "sub_1", second=3)
    await shop.drain()
    assert await ran(shop) == ["new", "blank"]


async def test_a_forced_replay_runs_and_leaves_the_mark_where_it_is(shop: Shop) -> None:
    shop.on("*", newest_only=True)(write)
    for key, second in (("old", 3), ("new", 9)):
        await send(shop, key, "sub.updated", "sub_1", second=second)
        await shop.drain()
    ids = [(await shop.show("old")).summary.event_id]
    await shop.inbox.replay(ids, forced=True, who="ada")
    await shop.drain()
    assert await ran(shop) == ["old", "new", "old"]
    await send(shop, "between", "sub.updated", "sub_1", second=5)
    await shop.drain()
    assert await outcome(shop, "between") == SUPERSEDED


async def test_a_dead_letter_that_is_replayed_is_superseded_by_what_came_after_it(shop: Shop) -> None:
    broken = True

    @shop.on("*", newest_only=True)
    async def handle(event: Event, tx: Any) -> None:
        if broken and event.key == "old":
            raise GiveUp("no")
        await write(event, tx)

    for key, second in (("old", 3), ("new", 9)):
        await send(shop, key, "sub.updated", "sub_1", second=second)
        await shop.drain()
    broken = False
    await shop.inbox.replay([(await shop.show("old")).summary.event_id], forced=False, who="ada")
    await shop.drain()
    assert await ran(shop) == ["new"]
    assert await outcome(shop, "old") == SUPERSEDED


async def test_handlers_of_one_event_have_marks_of_their_own(shop: Shop) -> None:
    shop.on("*", newest_only=True, name="newest")(write)
    shop.on("*", name="each")(write)
    for key, second in (("new", 9), ("old", 3)):
        await send(shop, key, "sub.updated", "sub_1", second=second)
        await shop.drain()
    assert sorted(await ran(shop)) == ["new", "new", "old"]
    state, reason, outcomes = await outcome(shop, "old")
    assert (state, reason, sorted(outcomes)) == (State.DONE, "superseded", ["done", "superseded"])


async def test_who_finds_the_receipt_of_a_superseded_event_says_the_same(shop: Shop) -> None:
    """Its worker died after the COMMIT, before it could settle."""
    shop.on("*", newest_only=True)(write)
    for key, second in (("new", 9), ("old", 3)):
        await send(shop, key, "sub.updated", "sub_1", second=second)
        await shop.drain()
    await shop.inbox.recover([(await shop.show("old")).summary.event_id], who="ada")
    await shop.drain()
    assert await outcome(shop, "old") == SUPERSEDED
    assert await ran(shop) == ["new"]


def test_a_path_is_a_path() -> None:
    from landfast.app.lifecycles import check_newest_only

    for path in ("", "a..b", 3, None):
        with pytest.raises(UserError, match=r"handler sync: newest_only is .*it is True, or the path"):
            check_newest_only("sync", path=path)  # type: ignore[arg-type]


async def test_what_the_newest_is_of_may_be_said_by_the_handler(shop: Shop) -> None:
    shop.on("*", newest_only=True, entity="object.id")(write)
    await send(shop, "new", "sub.updated", "cus_1", second=9, object={"id": "sub_1"})
    await shop.drain()
    await send(shop, "old", "sub.updated", "cus_2", second=3, object={"id": "sub_1"})
    await send(shop, "other", "sub.updated", "cus_1", second=1, object={"id": "sub_2"})
    await send(shop, "none", "sub.updated", "cus_1", second=1)
    await shop.drain()
    assert sorted(await ran(shop)) == ["new", "none", "other"]
    assert await outcome(shop, "old") == SUPERSEDED
