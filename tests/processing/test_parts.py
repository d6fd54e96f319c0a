"""Breaker, budget and pace: the small machines of a worker."""

import pytest

from landfast.domain.backoff import Backoff
from landfast.domain.breaker import Breaker
from landfast.domain.errors import ConfigError
from landfast.domain.ids import HandlerName, ReceiptDigest
from landfast.domain.outcome import ReceiptKey
from landfast.processing.control.breakers import Breakers
from landfast.processing.control.retry_budget import RetryBudget
from landfast.processing.fairness.pace import GROUP_EVENTS_AT_MOST, Pace
from landfast.processing.group import EXCUSED_SECONDS, Excuses
from landfast.processing.handlers.registry import EffectHandler, Handler, Registry
from landfast.testing.clock import ManualClock


def test_a_breaker_opens_probes_once_and_closes() -> None:
    breaker = Breaker(shortest=1, longest=4)
    assert breaker.allows(0) and breaker.remaining(0) == 0
    assert breaker.trip(0, "away") and breaker.is_open
    assert not breaker.allows(0.5) and breaker.remaining(0.5) == 0.5
    assert breaker.allows(1) and not breaker.allows(1)  # one probe at a time
    assert not breaker.trip(1, "still away")
    assert not breaker.allows(2.5) and breaker.allows(3)  # twice as long
    breaker.abandon_probe()
    assert breaker.allows(3)
    assert breaker.reset() and not breaker.reset() and breaker.allows(3)


def test_one_outage_seen_by_many_hands_opens_the_breaker_once() -> None:
    breaker = Breaker(shortest=1)
    breaker.trip(0, "away")
    assert not breaker.trip(0.1, "away") and breaker.remaining(0.1) == pytest.approx(0.9)


def test_a_breaker_waits_no_longer_than_its_cap() -> None:
    breaker, now = Breaker(shortest=1, longest=4), 0.0
    for _ in range(8):
        breaker.trip(now, "away")
        assert breaker.remaining(now) <= 4
        now += 4
        assert breaker.allows(now)


@pytest.mark.req("R23")
def test_retries_beyond_the_burst_are_spread_out() -> None:
    budget = RetryBudget(rate=10, burst=5)
    delays = [budget.delay(0.0, now=100.0) for _ in range(25)]
    assert delays[:5] == [0.0] * 5
    assert delays[-1] == pytest.approx(2.0)
    assert budget.delay(9.0, now=100.0) == 9.0
    assert budget.delay(0.0, now=200.0) == 0.0


def test_the_pace_grows_with_a_quick_backlog_and_shrinks_when_slow_or_stumbling() -> None:
    pace = Pace()
    for _ in range(12):
        pace.went(count=pace.size, seconds=0.001)
    assert pace.size == GROUP_EVENTS_AT_MOST
    pace.went(count=3, seconds=0.001)
    assert pace.size == GROUP_EVENTS_AT_MOST
    pace.went(count=GROUP_EVENTS_AT_MOST, seconds=0.2)
    pace.stumbled()
    assert pace.size == GROUP_EVENTS_AT_MOST // 4


def handler(**options: object) -> Handler:
    given = {
        "name": HandlerName("h"), "source": "s", "pattern": "*", "function": print, "attempts": 3,
        "backoff": Backoff(), "deadline": 1.0, "isolation": None, "group": True,
    }  # fmt: skip
    return Handler(**(given | options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"attempts": 0}, "attempts is 0"),
        ({"attempts": True}, "attempts is True; it must be a whole number of 1 or more"),
        ({"attempts": "3"}, "attempts is '3'; it must be a whole number of 1 or more"),
        ({"concurrency": 1.5}, "concurrency is 1.5; it must be a whole number from 1 to 256"),
        ({"concurrency": True}, "concurrency is True; it must be a whole number"),
        ({"deadline": "30"}, "deadline is '30'; it must be a number of seconds"),
        ({"backoff": 5}, "backoff is 5; it must be a Backoff"),
        ({"backoff": Backoff(total="3")}, "backoff takes numbers"),  # type: ignore[arg-type]
        ({"deadline": 0}, "deadline is 0"),
        ({"deadline": 7200.0}, "at most 3600"),
        ({"isolation": "chaos"}, "isolation is one of"),
        ({"backoff": Backoff(first=0)}, "first > 0"),
    ],
)
def test_a_handler_with_a_wrong_option_is_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Registry().add_handler(handler(**options))


def test_two_handlers_or_effects_of_one_name_are_refused() -> None:
    registry = Registry()
    registry.add_handler(handler())
    with pytest.raises(ConfigError, match="name is taken"):
        registry.add_handler(handler(pattern="x"))
    effect = EffectHandler(name="e", function=print, attempts=1, backoff=Backoff(), deadline=1.0)
    registry.add_effect(effect)
    with pytest.raises(ConfigError, match="name is taken"):
        registry.add_effect(effect)


def test_several_handlers_may_take_one_event_in_the_order_of_their_registration() -> None:
    registry = Registry()
    for name, source, pattern in (("a", "s", "x.*"), ("b", "s", "x.y"), ("c", "other", "*"), ("d", "s", "z")):
        registry.add_handler(handler(name=HandlerName(name), source=source, pattern=pattern))
    assert [found.name for found in registry.handlers_for("s", "x.y")] == ["a", "b"]
    assert registry.handlers_for("s", "x.y") is registry.handlers_for("s", "x.y")
    assert registry.handlers_for("nobody", "x.y") == ()


def test_no_probe_is_made_of_what_is_unsafe_and_a_look_that_finds_it_safe_allows_one() -> None:
    clock = ManualClock()
    breakers = Breakers(clock)
    breakers.distrust("fsync is off")
    for _ in range(5):
        clock.advance(100)
        with breakers.turn() as may_start:
            assert not may_start
        breakers.distrust("fsync is off")
    assert breakers.infrastructure.why == "fsync is off" and breakers.wait() > 0
    breakers.distrust("")
    assert breakers.wait() == 0
    with breakers.turn() as may_start:
        assert may_start and breakers.infrastructure.is_open, "the probe's success closes it"


def test_a_backlog_longer_than_the_memory_for_excuses_is_not_excused_for_ever() -> None:
    clock = ManualClock()
    excuses = Excuses(clock, remembered=10)
    events = [ReceiptKey(ReceiptDigest(bytes([n])), HandlerName("pay"), 1) for n in range(12)]
    rounds = [[excuses.excuse(event) for event in events] for _ in range(5)]
    given = [sum(of_one) for of_one in zip(*rounds, strict=True)]
    assert given == [3] * 10 + [0] * 2
    clock.advance(EXCUSED_SECONDS)
    assert excuses.excuse(events[11]), "those of an hour ago are forgotten"
