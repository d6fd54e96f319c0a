"""Answers that many pages share for a moment: fifty open dashboards ask the inbox as often as one does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from landfast.admin.live import Live
from landfast.admin.pages.part import Part
from landfast.ports.clock import Clock

KEPT_AT_MOST = 200
"""Answers; some have a filter in their name, and nobody may fill the memory with them."""


FAILED_SECONDS = 1.0


@dataclass(slots=True)
class _Kept:
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    until: float = 0.0
    part: Part = field(default_factory=Part)


@dataclass(slots=True)
class Shared:
    """An answer that failed is kept for a moment, for all who have waited for it: asked by one after the other, a
    question that takes five seconds to fail would keep the last of fifty waiting for minutes."""

    clock: Clock
    live: Live
    _kept: dict[str, _Kept] = field(default_factory=dict)

    async def get(self, name: str, seconds: float, ask: Callable[[], Awaitable[Part]]) -> Part:
        if len(self._kept) >= KEPT_AT_MOST:
            self._kept.clear()
        kept = self._kept.setdefault(f"{self.live.changes} {name}", _Kept())
        async with kept.asking:
            if self.clock.monotonic() >= kept.until:
                kept.part = await ask()
                kept.until = self.clock.monotonic() + (FAILED_SECONDS if kept.part.problem else seconds)
            return kept.part
