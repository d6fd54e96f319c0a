"""How long an event that fails again and again is tried: three days unless its handler says otherwise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import landfast
from landfast.domain.backoff import Backoff
from landfast.domain.fault import Fault
from landfast.domain.ids import HandlerName
from landfast.domain.outcome import Tries
from landfast.processing.handlers.registry import EffectHandler, Handler
from landfast.processing.judge import Judgement, Ruling, judge
from tests.processing.shop import Shop

HOUR = 3600.0
NOW = datetime(2026, 3, 6, 17, 0, tzinfo=UTC)
"""A Friday evening."""


def declared(**options: Any) -> tuple[Handler, EffectHandler]:
    """A handler and an effect as users declare them."""
    inbox = landfast.Inbox()
    inbox.on("stripe", "*", name="create_order", **options)(lambda _event, _tx: None)
    inbox.effect(name="send_mail", **options)(lambda effect: None)
    return inbox.registry.handlers[0], inbox.registry.effects["send_mail"]


def fail_until_buried(handler: Handler | EffectHandler, *, fraction: float) -> tuple[int, float, Judgement]:
    """How often it was tried, how many seconds lay between the first and the last, and what ended it."""
    tries, elapsed = Tries(), 0.0
    while True:
        judgement = judge(
            RuntimeError("a bug"),
            fault=Fault.OTHER,
            tries=tries,
            attempts=handler.attempts,
            backoff=handler.backoff,
            seconds=0.0,
            now=NOW + timedelta(seconds=elapsed),
            fraction=fraction,
        )
        if judgement.ruling is Ruling.BURY:
            return tries.count + 1, elapsed, judgement
        elapsed += judgement.after
        tries = Tries(tries.count + 1, tries.spent + judgement.after)


@pytest.mark.req("R23")
@pytest.mark.parametrize("which", [0, 1], ids=["handler", "effect"])
@pytest.mark.parametrize(("fraction", "attempts"), [(0.0, 731), (0.5, 141), (0.9999, 82)])
def test_by_default_an_event_is_tried_for_three_days(which: int, fraction: float, attempts: int) -> None:
    """From Friday evening to Monday evening, whatever the dice say: the jitter decides how often."""
    count, elapsed, judgement = fail_until_buried(declared()[which], fraction=fraction)
    assert judgement.reason == "time_exhausted"
    assert 71 * HOUR < elapsed <= 72 * HOUR
    assert abs(count - attempts) <= 1


@pytest.mark.parametrize("which", [0, 1], ids=["handler", "effect"])
def test_a_number_of_attempts_is_a_cap_that_is_kept(which: int) -> None:
    count, elapsed, judgement = fail_until_buried(declared(attempts=8)[which], fraction=0.5)
    assert (count, judgement.reason) == (8, "attempts_exhausted")
    assert elapsed < 5 * 60


async def test_the_worker_writes_down_what_the_schedule_needs_and_a_repeated_trace_once(shop: Shop) -> None:
    @shop.on(attempts=5, backoff=Backoff(total=3600))
    async def failing(event: Any, tx: Any) -> None:
        raise RuntimeError("a bug")

    await shop.deliver("evt_1")
    for _ in range(3):
        await shop.drain()
        await shop.advance(60)
    record = await shop.show("evt_1")
    tries = record.tries[HandlerName("failing")]
    assert (tries.count, tries.attempts, tries.total) == (3, 5, 3600)
    first, second, third = (attempt.trace for line in record.history for attempt in line.attempts)
    assert "a bug" in first
    assert second == third == "(the same trace as the attempt before)"
