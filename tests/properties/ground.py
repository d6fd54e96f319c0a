"""The ground under the state machine: the real shop, what is expected of it, and the comparison of the two."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant

from landfast.domain.effect import EffectState
from landfast.domain.ids import event_id
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Settlement
from tests.processing.shop import Shop
from tests.properties import checks
from tests.properties.expected import ATTEMPTS, CRASHES, MATCHING, Expected, Held
from tests.properties.floor import Floor, Hand
from tests.servers import Postgres

T = TypeVar("T")

outcomes = st.sampled_from(["ok", "ok", "fail", "give_up"])


class Ground(RuleBasedStateMachine):
    store: ClassVar[str] = ""
    server: ClassVar[Postgres]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.events: dict[str, Expected] = {}
        self.hands: list[Hand] = []
        self.held: dict[int, list[Held]] = {}
        self.signals: dict[int, list[tuple[Held, Signal]]] = {}
        self.revoked: list[str] = []
        self.troubles = 0
        self.folder = tempfile.TemporaryDirectory()
        self.database = "" if self.store == "sqlite" else self.server.new_database()
        place = self.folder.name if self.store == "sqlite" else self.server.dsn(self.database)
        self.floor = Floor(Shop(self.store, place), ["whsec_first"])
        self.run(self.floor.open())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @property
    def paused(self) -> Hand | None:
        return next((hand for hand in self.hands if hand.running is not None), None)

    # What holds after every step, and at the end.

    @invariant()
    def everything_is_as_expected(self) -> None:
        self.run(self._compare_all())

    async def _compare_all(self) -> None:
        shown = {each.key: each for each in await checks.summaries(self.floor)}
        assert shown.keys() == self.events.keys(), "I1"
        for key, event in self.events.items():
            if (event.state, shown[key].state) == (State.DELAYED, State.READY):
                event.state = State.READY  # some other claim woke it
            assert (shown[key].state, shown[key].run) == (event.state, event.run), f"I11: {event}"
        written, there = await self.floor.written(), await checks.receipts(self.floor, list(self.events))
        checks.check_writes(written, there)
        checks.check_mail(self.floor, written)
        await checks.check_census(self.floor, len(self.events))
        assert await self.floor.shop.inbox.has_suspects() == self.any_event(lambda event: event.is_suspect)
        expected = {(key, *place): out for key, event in self.events.items() for place, out in event.receipts.items()}
        assert there == expected
        assert written == {(key, *place): n for key, event in self.events.items() for place, n in event.writes.items()}

    def teardown(self) -> None:
        try:
            self.run(self._end())
        finally:
            self.run(self._close())
            self.loop.close()
            self.folder.cleanup()

    async def _end(self) -> None:
        """Let everybody finish, then let time pass until nothing is left to do."""
        self.floor.outcomes.clear()
        for hand in self.hands:
            if hand.running is not None:
                await self.floor.finish(hand)
            if hand.settlements:
                await self.floor.shop.inbox.settle(hand.settlements)
        await self.floor.tally.close()
        for _ in range(2 * CRASHES + ATTEMPTS):
            await self.floor.advance(4000)
            await self.floor.shop.drain()
            if await checks.is_quiet(self.floor):
                break
        dead = [
            (effect["key"], effect["run"])
            for effect in await self.floor.shop.ledger.list(state=EffectState.DEAD, limit=100)
        ]
        await self.floor.shop.ledger.revive(dead)
        await self.floor.shop.drain()
        await checks.check_the_end(self.floor, self.events)

    async def _close(self) -> None:
        for hand in self.hands:
            if hand.running is not None:
                await self.floor.kill(hand)
        await self.floor.close()
        if self.database:
            self.server.drop_database(self.database)

    # What the rules are made of.

    def pick(self, number: int) -> Expected:
        return list(self.events.values())[number % len(self.events)]

    def any_event(self, wanted: Callable[[Expected], bool]) -> bool:
        return any(map(wanted, self.events.values()))

    def fresh(self) -> list[Hand]:
        """Those that hold claims and have not begun."""
        return [hand for hand in self.hands if hand.running is None and hand.settlements is None]

    def event_of(self, settlement: Settlement) -> Expected:
        return next(each for each in self.events.values() if event_id("stripe", each.key) == settlement.event_id)

    def wake(self) -> None:
        """A claim wakes what is due; on a database with a clock of its own we cannot know, and look."""
        for shown in self.run(checks.summaries(self.floor)):
            event = self.events[shown.key]
            if event.state is State.DELAYED and shown.state in {State.READY, State.CLAIMED}:
                event.state = State.READY

    def take(self, hand: Hand, claims: list[Any]) -> None:
        if not claims:
            return
        self.hands.append(hand)
        self.held[hand.number] = [self.events[claim.key].claim(claim.token) for claim in claims]
        for claim, held in zip(claims, self.held[hand.number], strict=True):
            assert (claim.run, claim.forced, claim.body) == (held.run, held.forced, self.events[claim.key].body)
            open_tries = {name: tries.count for name, tries in claim.tries.items() if tries.came_to is None}
            assert open_tries == held.tries

    def draw(self, hand: Hand, data: st.DataObject) -> None:
        for held in self.held[hand.number]:
            for name in MATCHING[self.events[held.key].type]:
                self.floor.outcomes[held.key, name] = data.draw(outcomes, label=f"{held.key} {name}")

    def expect(self, hand: Hand) -> list[tuple[Held, Signal]]:
        return [(held, self._expect_one(hand, held)) for held in self.held[hand.number]]

    def _expect_one(self, hand: Hand, held: Held) -> Signal:
        event = self.events[held.key]
        drawn = {name: self.floor.outcomes[held.key, name] for name in MATCHING[event.type]}
        return event.execute(held, drawn, old=hand.old, busy=self.busy_for(hand, held))

    def busy_for(self, hand: Hand, held: Held) -> frozenset[str]:
        """A hand that stopped in `create_order` holds the receipts of its run, and the seals of those before."""
        other = self.paused
        if other is None or other is hand:
            return frozenset()
        [its] = self.held[other.number]
        return frozenset({"create_order"} if its.key == held.key and _keys(its) & _keys(held) else ())

    def compare(self, hand: Hand, expected: list[tuple[Held, Signal]]) -> None:
        assert hand.settlements is not None
        came = {self.event_of(settlement).key: settlement.signal for settlement in hand.settlements}
        assert came == {held.key: signal for held, signal in expected}
        self.signals[hand.number] = expected

    def drop(self, hand: Hand) -> None:
        self.hands.remove(hand)
        self.held.pop(hand.number)
        self.signals.pop(hand.number, None)


def _keys(held: Held) -> set[int]:
    return {held.run} if held.forced else set(range(1, held.run + 1))
