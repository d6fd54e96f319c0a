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


@dataclass(slots=True)
class _Kept:
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    until: float = 0.0
    asked: int = 0
    """How often: whoever waits meanwhile knows that it was."""
    part: Part = field(default_factory=Part)


@dataclass(slots=True)
class Shared:
    """A question that failed is asked again by whoever comes next, and not by those who have waited for it: one after
    the other, they would wait for minutes where it takes five seconds to fail."""

    clock: Clock
    live: Live
    _kept: dict[str, _Kept] = field(default_factory=dict)

    async def get(self, name: str, seconds: float, ask: Callable[[], Awaitable[Part]]) -> Part:
        self._drop_old()
        kept = self._kept.setdefault(f"{self.live.changes} {name}", _Kept())
        asked = kept.asked
        async with kept.asking:
            if asked == kept.asked and self.clock.monotonic() >= kept.until:
                kept.part = await ask()
                kept.asked += 1
                kept.until = 0.0 if kept.part.problem else self.clock.monotonic() + seconds
            return kept.part

    def _drop_old(self) -> None:
        """Answers that nobody takes any more: those of a day in each minute are large."""
        now = self.clock.monotonic()
        for name in [name for name, kept in self._kept.items() if now >= kept.until and not kept.asking.locked()]:
            del self._kept[name]
        if len(self._kept) >= KEPT_AT_MOST:
            self._kept.clear()
