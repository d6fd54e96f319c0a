"""Turns: a worker's hands in simulated time. Whoever has a backlog is served, whatever it shares with whom."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from landfast.domain.backoff import Backoff
from landfast.domain.flow import Flow
from landfast.domain.ids import HandlerName
from landfast.processing.fairness.relief import SLOW_AFTER_SECONDS
from landfast.processing.fairness.shares import Hold, Shares
from landfast.processing.fairness.turns import KEPT_SPAN_TENTHS, OVERTAKEN_PATIENCE_SECONDS
from landfast.processing.handlers.registry import Handler
from landfast.processing.worker import WAKEUP_POLL_SECONDS

HANDS = [1, 2, 3, 5, 16]

TURNS_AT_MOST = 20
"""Of each hand, between two turns of a group that waits. Its handlers are kept free for it in spans that double, so
that the span that is long enough begins after eight times the longest run at most, and its runs are of one length."""


def on(name: str, *types: str, concurrency: int | None = None) -> Handler:
    async def function(event: object, tx: object) -> None: ...

    return Handler(
        name=HandlerName(name),
        source="shop",
        pattern="|".join(types),
        function=function,
        attempts=3,
        backoff=Backoff(),
        deadline=30.0,
        isolation=None,
        group=True,
        concurrency=concurrency,
    )


@dataclass(slots=True)
class Run:
    hold: Hold
    handlers: Sequence[Handler]
    until: float


@dataclass
class Simulation:
    """Every type has a backlog that never ends. A run takes as long as `seconds` says; 0.3 s later its handler is
    slow. A hand that finds nothing looks again when another one is done, and every second."""

    hands: int
    handlers: Sequence[Handler]
    seconds: Callable[[str, float], float]
    limits: Mapping[str, int] = field(default_factory=dict)
    turns: list[tuple[float, str]] = field(default_factory=list)
    """When each run began, and of which type."""

    def __post_init__(self) -> None:
        self.shares = Shares(self.hands, self.handlers, self.limits)
        self.types = sorted({type_ for one in self.handlers for type_ in one.pattern.split("|")})
        self._handlers = {name: [one for one in self.handlers if name in one.pattern.split("|")] for name in self.types}
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._resting = 0
        self.now = 0.0

    def run(self, until: float) -> Simulation:
        for _ in range(self.hands):
            self._at(0.0, self._take)
        self._at(WAKEUP_POLL_SECONDS, self._poll)
        while self._later[0][0] < until:
            self.now, _, happens = heapq.heappop(self._later)
            happens()
        return self

    def handlers_of(self, source: str, type_: str) -> Sequence[Handler]:
        return self._handlers[type_]

    def longest_wait(self, type_: str, *, since: float = 0.0) -> int:
        """The most turns that others had between two of its own."""
        names = [name for at, name in self.turns if at >= since]
        own = [-1, *(place for place, name in enumerate(names) if name == type_), len(names)]
        return max(later - sooner - 1 for sooner, later in itertools.pairwise(own))

    def _at(self, when: float, happens: Callable[[], None]) -> None:
        heapq.heappush(self._later, (when, next(self._order), happens))

    def _poll(self) -> None:
        self._call()
        self._at(self.now + WAKEUP_POLL_SECONDS, self._poll)

    def _call(self) -> None:
        if self._resting:
            self._resting -= 1
            self._at(self.now, self._take)

    def _take(self) -> None:
        hold = self.shares.open()
        waiting = [Flow("shop", name, place) for place, name in enumerate(self.types)]
        choice = self.shares.choose(hold, waiting, self.handlers_of, now=self.now)
        if choice is None:
            self.shares.close(hold)
            self._resting += 1
            return
        hold.sharers = choice.sharers
        type_ = choice.flows[0].type
        self.turns.append((self.now, type_))
        run = Run(hold, self.handlers_of("shop", type_), self.now + self.seconds(type_, self.now))
        self._at(run.until, lambda: self._end(run))
        self._at(self.now + SLOW_AFTER_SECONDS, lambda: self._is_slow(run))
        self._call()

    def _is_slow(self, run: Run) -> None:
        if self.now < run.until:
            self.shares.is_slow(run.hold, run.handlers[0])
            self._call()

    def _end(self, run: Run) -> None:
        self.shares.slow -= {one.name for one in run.handlers} - run.hold.slow
        self.shares.close(run.hold)
        self._call()
        self._take()


def evenly(least: float, most: float) -> Callable[[str, float], float]:
    chance = random.Random(1)
    return lambda _type, _now: chance.uniform(least, most)


def two_that_meet(concurrency: int | None = None) -> list[Handler]:
    return [on("a", "only a", "both", concurrency=concurrency), on("b", "only b", "both", concurrency=concurrency)]


@pytest.mark.req("R24")
@pytest.mark.parametrize("concurrency", [None, 1, 2])
@pytest.mark.parametrize("hands", HANDS)
@pytest.mark.parametrize("run", [(0.04, 0.06), (0.5, 1.5), (10.0, 10.0)], ids=["quick", "slow", "very slow"])
def test_an_event_that_needs_two_handlers_gets_its_turn_between_those_that_need_one(
    run: tuple[float, float], hands: int, concurrency: int | None
) -> None:
    """Both are never free by chance: whoever is done with one of them takes it again."""
    simulation = Simulation(hands, two_that_meet(concurrency), evenly(*run)).run(until=run[1] * 60)
    for name in simulation.types:
        assert simulation.longest_wait(name) <= TURNS_AT_MOST * hands, Counter(one for _, one in simulation.turns)


@pytest.mark.parametrize("hands", HANDS)
def test_of_many_that_share_one_handler_each_gets_its_turn(hands: int) -> None:
    handlers = [
        on("shared", "shared alone", *(f"with {n}" for n in range(6)), concurrency=1),
        *(on(f"h{n}", f"with {n}", f"without {n}") for n in range(6)),
    ]
    simulation = Simulation(hands, handlers, evenly(0.05, 0.5)).run(until=20)
    for name in simulation.types:
        assert simulation.longest_wait(name) <= TURNS_AT_MOST * max(hands, len(simulation.types))


@pytest.mark.parametrize("hands", HANDS)
def test_a_chain_of_handlers_that_meet_in_pairs_is_served_everywhere(hands: int) -> None:
    handlers = [
        on(name, f"only {name}", *pairs) for name, pairs in {"a": ["ab"], "b": ["ab", "bc"], "c": ["bc"]}.items()
    ]
    simulation = Simulation(hands, handlers, evenly(0.5, 1.5), limits={"shop": max(1, hands - 1)}).run(until=60)
    for name in simulation.types:
        assert simulation.longest_wait(name) <= TURNS_AT_MOST * max(hands, len(simulation.types))


@pytest.mark.parametrize("b_seconds", [0.1, 1.0], ids=["quick", "slow"])
@pytest.mark.parametrize("hands", HANDS[1:])
def test_while_one_of_two_handlers_hangs_the_others_own_events_go_on(hands: int, b_seconds: float) -> None:
    """Events of both wait for the one that hangs, but not with the other handler in their hands."""
    hung_from, hung_for = 10.0, 60.0

    def seconds(type_: str, now: float) -> float:
        if type_ == "only a":
            return hung_from + hung_for - now if hung_from <= now < hung_from + hung_for else 0.1
        return b_seconds

    simulation = Simulation(hands, two_that_meet(concurrency=1), seconds).run(until=120)
    own = [at for at, name in simulation.turns if name == "only b" and hung_from <= at < hung_from + hung_for]
    gaps = [later - sooner for sooner, later in itertools.pairwise([hung_from, *own, hung_from + hung_for])]
    if b_seconds < SLOW_AFTER_SECONDS:
        assert max(gaps) < 2 * WAKEUP_POLL_SECONDS
    else:
        assert max(gaps) < KEPT_SPAN_TENTHS * OVERTAKEN_PATIENCE_SECONDS + WAKEUP_POLL_SECONDS + b_seconds
        assert len(own) > hung_for / b_seconds / 3
    over = hung_from + hung_for + KEPT_SPAN_TENTHS * OVERTAKEN_PATIENCE_SECONDS
    for name in simulation.types:
        assert simulation.longest_wait(name, since=over) <= TURNS_AT_MOST * hands


def test_backlogs_that_share_nothing_take_turns_and_nobody_is_kept_waiting() -> None:
    handlers = [on(f"h{n}", f"t{n}") for n in range(40)]
    simulation = Simulation(1, handlers, evenly(0.05, 0.2)).run(until=20)
    for name in simulation.types:
        assert simulation.longest_wait(name) == 39


def test_who_was_overtaken_is_remembered_although_some_looks_do_not_find_it() -> None:
    """Where there are more types than one look brings."""
    a, b = two_that_meet()
    shares = Shares(2, [a, b])
    of = Simulation(2, [a, b], evenly(1, 1)).handlers_of
    chosen, now = list[str](), 0.0
    holds: list[Hold] = []
    for look in range(60):
        now += 0.05
        if len(holds) == 2:
            shares.close(holds.pop(0))
        hold = shares.open()
        seen = ["both", "only a", "only b"] if look % 2 else ["only a", "only b"]
        choice = shares.choose(hold, [Flow("shop", name) for name in seen], of, now=now)
        if choice is None:
            shares.close(hold)
            if holds:
                shares.close(holds.pop(0))
            continue
        hold.sharers = choice.sharers
        holds.append(hold)
        chosen.append(choice.flows[0].type)
    assert chosen.count("both") >= 3
