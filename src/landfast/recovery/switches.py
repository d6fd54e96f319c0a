"""The 3 a.m. switch: stop processing a source or a handler, while what it is sent is still acknowledged and kept."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.switch import Switch, SwitchKind
from landfast.ports.inbox import Inbox, Switchboard

RESUME_CHUNK_EVENTS = 1_000
"""Events that are made ready in one statement, so that no claim waits for a whole backlog."""


async def paused(board: Switchboard) -> Sequence[Switch]:
    """What operators have switched off."""
    return [switch for switch in await board.switches() if switch.kind is not SwitchKind.BREAKER]


async def open_breakers(board: Switchboard) -> Sequence[Switch]:
    """What workers have switched off."""
    return [switch for switch in await board.switches() if switch.kind is SwitchKind.BREAKER]


async def resume(inbox: Inbox, kind: SwitchKind, name: str) -> int | None:
    """Lift the switch and make ready what it had paused; how many, or None where it was not thrown.

    Crash between the two: the workers find what waits for nothing. A worker that has not heard of it yet may pause a
    few more; the workers find those, too.
    """
    if not await inbox.lift(kind, name):
        return None
    total = 0
    while count := await inbox.resume(limit=RESUME_CHUNK_EVENTS):
        total += count
    return total
