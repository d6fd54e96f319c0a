"""Many deliveries of few events, while several workers run."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from landfast.domain.errors import UserError
from landfast.intake.receive import Intake
from landfast.testing.crash import Crash
from landfast.testing.crash_places import PlannedCrash, crash_at
from landfast.testing.reports import Delivered, StormReport
from landfast.testing.requests import SignedRequest, take_in

SENDERS = 50
"""Requests in flight at the same time."""
FEW_EVENTS = 2
CRASHES_FOR_FEW_EVENTS = 2
"""An event whose worker dies three times while it runs alone is a dead letter, as it should be."""
COMMITS_APART = 3
"""From one crash to the next, where there are events enough: then no event meets all of them."""
LAST_LOOK_SECONDS = 10.0
"""After a storm, of the test's own time: what a worker put off for a second is looked at again."""
REST_SECONDS = 0.002
"""Between two looks of a worker that found nothing, while deliveries still come."""


def shuffled(requests: Sequence[SignedRequest], *, times: int, seed: int) -> list[SignedRequest]:
    sent = [request for request in requests for _ in range(times)]
    random.Random(seed).shuffle(sent)  # noqa: S311 - the same storm again is what a seed is for
    return sent


def planned_crashes(count: int, events: int) -> list[PlannedCrash]:
    """Before the COMMIT and after it in turn. Each event has a COMMIT of its own, and one more for each crash."""
    is_few = events <= FEW_EVENTS
    most, apart = (CRASHES_FOR_FEW_EVENTS, 1) if is_few else ((events + 1) // 2, COMMITS_APART)
    if count > most:
        raise UserError(f"storm: {count} crashes are too many for {events} events; take {most} at most, or more events")
    return [crash_at("after commit" if each % 2 else "before commit", nth=1 + each * apart) for each in range(count)]


async def pour(
    intake: Intake, sent: Sequence[SignedRequest], *, workers: int, drain: Callable[[], Awaitable[None]]
) -> list[Delivered]:
    """Every answer, in the order of the requests."""
    places = asyncio.Semaphore(SENDERS)

    async def send(request: SignedRequest) -> Delivered:
        async with places:
            return await take_in(intake, request)

    async def work() -> None:
        while not sending.done():
            await drain()
            await asyncio.sleep(REST_SECONDS)
        await drain()

    sending = asyncio.gather(*map(send, sent))
    await asyncio.gather(sending, *(work() for _ in range(workers)))
    return sending.result()


def report(answers: Sequence[Delivered], crashes: Sequence[Crash]) -> StormReport:
    return StormReport(
        delivered=len(answers),
        stored=sum(answer.is_new for answer in answers),
        duplicates=sum(answer.body.get("status") == "duplicate" for answer in answers),
        crashes=sum(crash.fired for crash in crashes),
    )
