"""`@inbox.on_dead`: each dead letter is told at least once, in its own time, whatever the function does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from landfast.app import Inbox
from landfast.app.dead_hooks import DeadHooks
from landfast.domain.errors import ConfigError
from landfast.domain.lifecycle import State
from landfast.processing.handlers.registry import DeadHook
from landfast.recovery.dead_letters import DeadLetter
from landfast.testing.clock import SeededChance
from landfast.testing.factory import deliveries, event_in
from tests.inboxes.sqlite_bench import SqliteBench
from tests.patience import PATIENCE_SECONDS


class Told:
    def __init__(self) -> None:
        self.keys: list[str] = []
        self.error: BaseException | None = None

    async def hear(self, letter: DeadLetter) -> None:
        self.keys.append(letter.key)
        if self.error is not None:
            raise self.error


@pytest.fixture
async def bench(tmp_path: Path) -> Any:
    made = SqliteBench(tmp_path / "inbox.db")
    await made.inbox.open()
    await made.inbox.migrate()
    yield made
    await made.close()


def hooks(bench: SqliteBench, told: Told, *, seed: int = 0, name: str = "tell") -> DeadHooks:
    hook = DeadHook(name=name, function=told.hear, deadline=PATIENCE_SECONDS)
    return DeadHooks(bench.inbox, [hook], bench.clock, SeededChance(seed))


async def die(bench: SqliteBench, *numbers: int) -> None:
    for number in numbers:
        await event_in(bench.inbox, State.DEAD, deliveries(9)[number], number=number + 1)


async def test_what_dies_after_its_first_start_is_told_once(bench: SqliteBench) -> None:
    told = Told()
    await die(bench, 0)
    telling = hooks(bench, told)
    await telling.look()
    assert told.keys == [], "that was before its time"
    await die(bench, 1, 2)
    await telling.look()
    await telling.look()
    assert sorted(told.keys) == ["evt_0001", "evt_0002"]


async def test_what_died_while_nobody_ran_is_told_at_the_next_start(bench: SqliteBench) -> None:
    told = Told()
    await hooks(bench, told).look()
    await die(bench, 1)
    bench.clock.advance(3600)
    await hooks(bench, told, seed=1).look()
    assert told.keys == ["evt_0001"]


async def test_of_two_workers_one_walks_and_nobody_is_told_twice(bench: SqliteBench) -> None:
    told = Told()
    one, other = hooks(bench, told), hooks(bench, told, seed=1)
    await one.look()
    await die(bench, 1, 2, 3)
    await other.look()
    await one.look()
    await other.look()
    assert sorted(told.keys) == ["evt_0001", "evt_0002", "evt_0003"]


async def test_of_two_applications_each_is_told_by_its_own_function(bench: SqliteBench) -> None:
    shop, bank = Told(), Told()
    one, other = hooks(bench, shop, name="tell_shop"), hooks(bench, bank, seed=1, name="tell_bank")
    for telling in (one, other):
        await telling.look()
    await die(bench, 1, 2)
    for telling in (one, other):
        await telling.look()
    assert sorted(shop.keys) == sorted(bank.keys) == ["evt_0001", "evt_0002"]


async def test_one_that_raises_is_called_again_later_and_holds_up_no_other(bench: SqliteBench) -> None:
    told, calm = Told(), Told()
    telling = hooks(bench, told)
    await telling.look()
    await die(bench, 1)
    told.error = RuntimeError("the chat is down")
    await telling.look()
    (waiting,) = await bench.inbox.waiting_messages(limit=9)
    assert waiting.error.startswith("RuntimeError at ")
    assert "chat" not in waiting.error, "an error's text may hold what a sealed inbox hides"
    quiet = DeadHooks(
        bench.inbox,
        [DeadHook(name="other", function=calm.hear, deadline=PATIENCE_SECONDS)],
        bench.clock,
        SeededChance(5),
    )
    bench.clock.advance(61)
    await quiet.look()
    await die(bench, 2)
    await quiet.look()
    assert calm.keys == ["evt_0002"]
    told.error = None
    bench.clock.advance(61)
    await telling.look()
    assert told.keys == ["evt_0001", "evt_0001", "evt_0002"]
    assert await bench.inbox.waiting_messages(limit=9) == []


async def test_an_event_that_was_replayed_meanwhile_is_no_dead_letter(bench: SqliteBench) -> None:
    told = Told()
    telling = hooks(bench, told)
    await telling.look()
    await die(bench, 1, 2)
    await bench.inbox.replay([deliveries(9)[1].event_id], forced=False, who="ada")
    await telling.look()
    assert told.keys == ["evt_0002"]


def test_the_function_takes_a_letter_and_has_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "landfast.toml").touch()
    inbox = Inbox(tmp_path / "landfast.toml")

    with pytest.raises(ConfigError, match=r"on_dead none: it must be a function that takes \(letter\)"):

        @inbox.on_dead
        def none() -> None: ...

    @inbox.on_dead
    def tell(letter: DeadLetter) -> None: ...

    with pytest.raises(ConfigError, match="on_dead tell: the name is taken"):
        inbox.on_dead(name="tell")(lambda letter: letter)
    with pytest.raises(ConfigError, match="deadline is 0"):
        inbox.on_dead(name="never", deadline=0)(lambda letter: letter)
