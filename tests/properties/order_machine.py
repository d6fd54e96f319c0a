"""A few hands over two entities, and what Hypothesis has them do."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from landfast.domain.delivery import Delivery, Identity
from landfast.domain.effect import ClaimedEffect, EffectSettlement, EffectState
from landfast.domain.errors import StoreError
from landfast.domain.ids import Token
from landfast.domain.lifecycle import State
from landfast.domain.outcome import Claim, Settlement
from landfast.processing.effects.settlements import TIMED_OUT
from landfast.processing.fairness.pace import Pace
from landfast.testing.factory import DAWN
from tests.properties.faults import Fault, faulty
from tests.properties.order_checks import Known, check, effects_of, id_of, left_of
from tests.properties.order_handlers import CHAIN, PLANS, WHATS, Node, Told, Watching, source_of
from tests.properties.order_ledgers import OrderShop

NODES = 5
LEASE = 600.0

picks = st.integers(0, 11)
faults = st.none() | st.builds(Fault, st.integers(1, 40), st.sampled_from(["before", "after"]))
numbers = st.integers(0, 2 * len(CHAIN) - 1)
outcomes = st.sampled_from(["ok", "fail", "give_up"])


def _act(name: str, *given: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(st.just(name), *given)


# One that stands here several times is drawn as much more often. The first examples have the first one alone: it does
# nothing where nobody has claimed.
acts = st.one_of(
    *(_act("work", picks, st.booleans()) for _ in range(6)),
    _act("drain", faults),
    _act("arrive", numbers, st.booleans()),
    *(_act("claim", st.integers(1, 4)) for _ in range(3)),
    *(_act("claim_effects", st.integers(1, 3)) for _ in range(2)),
    *(_act("work_on_effects", picks) for _ in range(4)),
    _act("crash", picks),
    _act("time_passes", st.sampled_from([2.0, 31.0, LEASE + 1, 20_000.0])),
    _act("will", numbers, st.sampled_from(WHATS), outcomes),
    _act("effect_will", st.integers(0, 1), st.integers(0, NODES - 1), outcomes),
    _act("operate", picks, st.sampled_from(["replay", "force", "skip"])),
    _act("see_to_dead_effects", picks, st.booleans()),
)
nodes = st.builds(
    Node,
    after=st.sets(st.integers(0, NODES - 1)).map(lambda named: tuple(sorted(named))),
    writes=st.booleans(),
    awaits=st.sampled_from([None, None, "run", "dead"]),
)
graphs = st.lists(nodes, min_size=1, max_size=NODES).map(
    lambda drawn: tuple(node._replace(after=tuple(n for n in node.after if n < at)) for at, node in enumerate(drawn))
)


@dataclass
class Hand:
    claims: Sequence[Claim]
    step: int
    settlements: list[Settlement] | None = None


@dataclass
class EffectHand:
    claimed: ClaimedEffect
    settlement: EffectSettlement | None = None


class Order(RuleBasedStateMachine):
    """Two entities of its own in each example; the inbox and the ledger are the same for all."""

    shop: ClassVar[OrderShop]
    runner: ClassVar[asyncio.Runner]
    told: Told
    ledger: ClassVar[Watching]
    numbers: ClassVar[Iterator[int]]

    def __init__(self) -> None:
        super().__init__()
        number = next(self.numbers)
        self.entities = (f"s{number}", f"g{number}")
        self.recorded: dict[str, int] = {}
        self.hands: list[Hand] = []
        self.performers: list[EffectHand] = []
        self.excused: set[str] = set()
        self.forced: set[tuple[str, int]] = set()
        self.step = 0
        self.worker = self.shop.worker(ledger=self.ledger, effects=self.ledger)

    def run(self, work: Any) -> Any:
        self.step += 1
        answer = self.runner.run(work)
        wrong, self.told.wrong = self.told.wrong, []
        assert not wrong, f"I21: {wrong}"
        return answer

    @initialize(first=graphs, second=graphs, came=st.permutations(range(2 * len(CHAIN))), count=st.integers(2, 8))
    def begin(self, first: tuple[Node, ...], second: tuple[Node, ...], came: list[int], count: int) -> None:
        self.told.graphs |= dict(zip(self.entities, (first, second), strict=True))
        for number in came[:count]:
            self.arrive(number, again=False)

    @rule(act=acts)
    def do(self, act: tuple[Any, ...]) -> None:
        """One rule for all: of many, Hypothesis would leave half of them out of each example, and most of what there is to
        see takes a claim, its execution and its settlement."""
        name, *given = act
        getattr(self, name)(*given)

    # What senders do.

    def arrive(self, number: int, again: bool) -> None:
        entity, at = self.entities[number % 2], number // 2
        what = Delivery.of(
            source_of(entity),
            Identity(f"{entity}:{at}", CHAIN[at], entity, DAWN + timedelta(seconds=at)),
            received_at=self.shop.clock.now(),
            headers=b"[]",
            body=b"{}",
        )
        self.run(self.shop.inbox.record([what] * (1 + again)))
        self.recorded.setdefault(what.key, self.step)

    # What workers do.

    def claim(self, limit: int) -> None:
        token = Token(os.urandom(16))
        claims = [*self.run(self.shop.inbox.claim(token=token, lease=LEASE, limit=limit))]
        if not claims and (suspect := self.run(self.shop.inbox.claim_suspect(token=token, lease=LEASE))):
            claims = [suspect]
        if claims:
            self.hands.append(Hand(claims, self.step))

    def work(self, pick: int, dies: bool) -> None:
        """One hand executes what it claimed, or settles what it executed. Whoever dies then has not looked whether the
        entity of what it parked has moved meanwhile."""
        if not self.hands:
            return
        hand = self.hands[pick % len(self.hands)]
        if hand.settlements is None:
            self.told.step = hand.step
            hand.settlements = self.run(self.worker._execution.execute(hand.claims, Pace()))
            return
        self.hands.remove(hand)
        settler = self.worker._settler
        if dies:
            self.run(settler._parking.before(hand.settlements))
            self.run(self.shop.inbox.settle(hand.settlements))
        else:
            self.run(settler._write(hand.settlements))

    def claim_effects(self, limit: int) -> None:
        if not self.told.staged & {*self.entities}:
            return
        token = Token(os.urandom(16))
        claimed = [*self.run(self.ledger.claim(token=token, lease=LEASE, limit=limit))]
        if not claimed and (suspect := self.run(self.ledger.claim_suspect(token=token, lease=LEASE))):
            claimed = [suspect]
        self.performers += [EffectHand(each) for each in claimed]

    def work_on_effects(self, pick: int) -> None:
        """One is performed, or settled: by whoever holds it, or held it once. The last word has who holds it now."""
        if not self.performers:
            return
        hand = self.performers[pick % len(self.performers)]
        if hand.settlement is None:
            self.told.step = self.step
            hand.settlement = self.run(self.worker._effect_loop.performance._perform_one(hand.claimed))
        else:
            self.performers.remove(hand)
            self.run(self.ledger.settle([hand.settlement]))

    def crash(self, pick: int) -> None:
        lives: list[Any] = [*self.hands, *self.performers]
        if lives:
            hand = lives[pick % len(lives)]
            (self.hands if isinstance(hand, Hand) else self.performers).remove(hand)

    def drain(self, fault: Fault | None) -> None:
        """Another worker does all that there is; or a database goes away under it."""
        inbox, ledger = self.shop.inbox, self.ledger
        if fault is not None:
            inbox, ledger = faulty(inbox, ledger, Fault(fault.nth, fault.when))
        self.told.step = self.step + 1
        with contextlib.suppress(StoreError):
            self.run(self.shop.worker(bench=inbox, ledger=ledger, effects=ledger).drain())

    # What else happens.

    def time_passes(self, seconds: float) -> None:
        """Delayed ones are due, or leases expire: then their hands are zombies, which go on."""
        self.run(self.shop.advance(seconds))

    def will(self, number: int, what: str, then: str) -> None:
        self.told.outcomes[what, f"{self.entities[number % 2]}:{number // 2}"] = then

    def effect_will(self, entity: int, node: int, then: str) -> None:
        self.told.outcomes[f"node_{node}", f"{self.entities[entity]}:{PLANS}"] = then

    def operate(self, pick: int, how: str) -> None:
        """By force only what is done: else a lifecycle would be passed over."""
        key = sorted(self.recorded)[pick % len(self.recorded)]
        if how == "skip":
            self.run(self.shop.inbox.skip([id_of(key)], who="ada"))
        else:
            self.run(self._replay(key, forced=how == "force"))

    def see_to_dead_effects(self, pick: int, skips: bool) -> None:
        if self.told.buried & {*self.entities}:
            self.run(self._skip_effect(pick) if skips else self._revive())

    async def _replay(self, key: str, *, forced: bool) -> None:
        summary = (await self.shop.inbox.show(id_of(key))).summary
        forced = forced and summary.state is State.DONE
        if await self.shop.inbox.replay([id_of(key)], forced=forced, who="ada"):
            self.excused.add(key)
            if forced:
                self.forced.add((key, summary.run + 1))

    async def _revive(self) -> None:
        dead = await self.shop.ledger.list(state=EffectState.DEAD, limit=99)
        await self.shop.ledger.revive([(row["key"], row["run"]) for row in dead])

    async def _skip_effect(self, pick: int) -> None:
        dead = await self.shop.ledger.list(state=EffectState.DEAD, limit=99)
        if dead:
            row = dead[pick % len(dead)]
            result = TIMED_OUT if row["step"].arrival else b'{"skipped":true}'
            if await self.shop.ledger.skip(row["key"], row["run"], result=result):
                self.told.skipped(row["key"], row["run"], result)

    # What must hold in the end.

    def teardown(self) -> None:
        """What has not come yet comes, nothing fails any more, and an operator sees to what is dead."""
        self.told.outcomes.clear()
        for number in range(2 * len(CHAIN)):
            self.arrive(number, again=False)
        self.run(self._finish())
        for entity in self.entities:
            left = self.run(left_of(self.shop, entity))
            check(left, Known(self.recorded, self.excused, self.forced))

    async def _finish(self) -> None:
        for _ in range(4 * len(CHAIN)):
            await self.shop.advance(20_000.0)
            self.told.step = self.step
            await self.shop.worker(ledger=self.ledger, effects=self.ledger).drain()
            states = {key: (await self.shop.inbox.show(id_of(key))).summary.state for key in self.recorded}
            effects = [row["state"] for entity in self.entities for row in await effects_of(self.shop, entity)]
            if {*states.values()} == {State.DONE} and {*effects} <= {EffectState.DONE}:
                return
            for key in (key for key, state in states.items() if state is State.DEAD):
                await self._replay(key, forced=False)
            await self._revive()
        raise AssertionError(f"I3: {states}, {effects}")
