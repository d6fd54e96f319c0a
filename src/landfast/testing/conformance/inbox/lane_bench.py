"""Events of one lane, for the two parts of the suite that are about order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from landfast.domain.delivery import Delivery
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Claim, Settlement
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_one
from landfast.testing.factory import DAWN, delivery, settlement

SOURCE = "shop"


def of_lane(*numbers: int, entity: str | None = "cus_1", hold: str = "") -> list[Delivery]:
    """Events that occurred so many seconds after dawn, and arrived together an hour later."""
    return [
        delivery(
            f"{entity}:{number}",
            entity=entity,
            occurred_at=DAWN + timedelta(seconds=number),
            received_at=DAWN + timedelta(hours=1),
            hold=hold,
        )
        for number in numbers
    ]


def keys(claims: Sequence[Claim], *, is_behind: bool | None = None) -> list[str]:
    """The numbers of the events, in the order of their places."""
    in_order = sorted(claims, key=lambda each: each.place or b"")
    return [each.key.split(":")[1] for each in in_order if is_behind is None or each.is_behind is is_behind]


def settled(held: Claim, signal: Signal, **more: Any) -> Settlement:
    return settlement(held, signal, **{"lane": held.lane, **more})


async def queue(bench: Bench, claims: Sequence[Claim]) -> None:
    assert all(await bench.inbox.settle([settled(each, Signal.QUEUE) for each in claims]))


class LaneBench:
    """What both parts of the suite need."""

    @pytest.fixture
    async def ordered(self, bench: Bench) -> Bench:
        await bench.inbox.order([SOURCE])
        return bench

    async def blocked(self, ordered: Bench, *numbers: int, signal: Signal | None = None, **more: Any) -> Claim:
        """Event 1 is claimed, and these are queued behind it."""
        await ordered.inbox.record(of_lane(1))
        first = await claim_one(ordered.inbox, 1)
        await ordered.inbox.record(of_lane(*numbers))
        await queue(ordered, await claim(ordered.inbox, 2, limit=99))
        if signal is not None:
            await ordered.inbox.settle([settled(first, signal, **more)])
        return first

    async def ids(self, *numbers: int) -> list[EventId]:
        return [what.event_id for what in of_lane(*numbers)]
