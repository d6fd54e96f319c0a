"""How a sender tries again, as far as it has published that."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from landfast.app.sources import profile_of
from landfast.config import SourceSettings
from landfast.domain.errors import UserError
from landfast.testing.reports import NO_ANSWER, Delivered, Redelivered

FIRST_WAIT_SECONDS = 60.0
"""Where a sender says for how long it tries, and not when: from a minute, twice as long each time, to the end. Nobody
publishes fewer attempts than that makes, and nobody's first wait is much longer."""


async def play(
    source: SourceSettings,
    waits: Sequence[float],
    *,
    send: Callable[[], Awaitable[Delivered]],
    wait: Callable[[float], Awaitable[object]],
    now: Callable[[], datetime],
    down: int,
    lost: float,
) -> Redelivered:
    """A sender's attempts, until it hears of a success or gives up."""
    attempts: list[tuple[datetime, Delivered]] = []
    was_heard = False
    for number, seconds in enumerate((0.0, *waits)):
        await wait(seconds)
        at = now()
        if number < down:
            heard = Delivered(503, {})
        else:
            told = await send()
            heard = Delivered(NO_ANSWER, {}) if number < down + lost else told
        attempts.append((at, heard))
        was_heard = is_success(source, heard.status)
        if was_heard or gives_up(source, heard.status):
            break
    return Redelivered(tuple(attempts), was_heard)


def schedule(source: SourceSettings, given: Sequence[float] | None) -> tuple[float, ...]:
    """Seconds between its attempts."""
    known = profile_of(source).redelivery
    if given is not None:
        return tuple(given)
    if known.delays is not None:
        return known.delays
    if known.window is None:
        raise UserError(
            f"redeliver: {source.provider} does not publish when it sends again; give delays=(60, 3600, ...) in seconds"
        )
    waits: list[float] = []
    left, wait = known.window, FIRST_WAIT_SECONDS
    while left > 0:
        waits.append(min(wait, left))
        left -= waits[-1]
        wait *= 2
    return tuple(waits)


def is_success(source: SourceSettings, status: int) -> bool:
    said = re.match(r"\d{3}", profile_of(source).redelivery.success)
    return status == int(said[0]) if said else 200 <= status < 300


def gives_up(source: SourceSettings, status: int) -> bool:
    """Whether this answer ends it."""
    ends_on = profile_of(source).redelivery.ends_on
    if not ends_on or status == NO_ANSWER:
        return False
    numbers = {int(number) for number in re.findall(r"\d{3}", ends_on)}
    if ends_on.startswith("all but"):
        return status not in numbers
    if ends_on.startswith("4xx"):
        return 400 <= status < 500 and status not in numbers
    return status in numbers
