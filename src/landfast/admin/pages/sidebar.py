"""The navigation with its counts. They are asked for once for everybody, and at most once in a while."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from landfast.admin.desk import Desk
from landfast.admin.questions.overview import Overview, OverviewAsked, recent_overview
from landfast.domain.errors import LandfastError

KEPT_SECONDS = 3.0
"""Fifty open dashboards cost the inbox as much as one."""

ASK_SECONDS = 3.0
"""A page comes without its counts, if the inbox is slow."""

WINDOW_MINUTES = 10


@dataclass(frozen=True, slots=True)
class Item:
    name: str
    path: str
    title: str
    count: str = ""
    tone: str = ""


@dataclass(slots=True)
class Sidebar:
    desk: Desk
    more: Sequence[Item] = ()
    """Above all others."""
    seen: Overview | None = None
    footnote: str = ""
    _until: float = 0.0
    _changes: int = 0
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def refresh(self) -> None:
        """Without an answer the counts are gone: an old number beside a new page would be a lie."""
        clock = self.desk.inbox.clock
        async with self._asking:
            if clock.monotonic() < self._until and self._changes == self.desk.live.changes:
                return
            self._changes = self.desk.live.changes
            try:
                async with asyncio.timeout(ASK_SECONDS):
                    await self.desk.open()
                    self.seen = await recent_overview(self.desk, OverviewAsked(minutes=WINDOW_MINUTES))
                self.footnote = _footnote(self.seen)
            except (LandfastError, TimeoutError):
                self.seen, self.footnote = None, "The inbox does not answer."
            self._until = clock.monotonic() + KEPT_SECONDS

    @property
    def footnote_tone(self) -> str:
        """Nobody processes what waits: that is worth more than a grey line."""
        if self.seen is None or not self.seen.states["ready"].number:
            return ""
        return "" if any(one.is_alive and one.role == "worker" for one in self.seen.processes) else "bad"

    def navigation(self) -> Sequence[Sequence[Item]]:
        return [
            *([self.more] if self.more else []),
            [
                Item("overview", "/", "Overview"),
                Item("events", "/events", "Events"),
                Item("failures", "/failures", "Failures"),
                Item("dead", "/dead", "Dead letters", self._state("dead"), "bad"),
                Item("held", "/held", "Held", self._state("held"), "warn"),
                Item("replays", "/replays", "Replays"),
            ],
            [
                Item("sources", "/sources", "Sources", *self._paused("source")),
                Item("handlers", "/handlers", "Handlers", *self._breakers()),
                Item("effects", "/effects", "Effects"),
                Item("lanes", "/lanes", "Lanes", self._state("queued")),
            ],
            [
                Item("proof", "/proof", "Proof"),
                Item("alerts", "/alerts", "Alerts", str(len(self.seen.alerts) or "") if self.seen else "", "bad"),
                Item("rejected", "/rejected", "Refusals"),
                Item("audit", "/audit", "Operator log"),
                Item("doctor", "/doctor", "Doctor"),
            ],
        ]

    def errors(self) -> tuple[str, ...]:
        """Classes of the errors that handlers fail with now, for the filter box."""
        if self.seen is None:
            return ()
        return tuple(dict.fromkeys(error for one in self.seen.handlers for error, _ in one.errors))

    def _state(self, name: str) -> str:
        counted = self.seen.states.get(name) if self.seen else None
        return f"{counted.number:,}{'+' if counted.is_more else ''}" if counted and counted.number else ""

    def _paused(self, kind: str) -> tuple[str, str]:
        number = sum(one.kind == kind for one in self.seen.pauses) if self.seen else 0
        return (f"{number} paused", "warn") if number else ("", "")

    def _breakers(self) -> tuple[str, str]:
        if self.seen is None:
            return "", ""
        if self.seen.breakers:
            return f"{len(self.seen.breakers)} open", "bad"
        return self._paused("handler")


def _footnote(seen: Overview) -> str:
    alive = [one.role for one in seen.processes if one.is_alive]
    intakes, workers = alive.count("intake"), alive.count("worker")
    told = [
        f"{intakes} intake{'' if intakes == 1 else 's'}",
        f"{workers} worker{'' if workers == 1 else 's'}",
    ]
    return f"{' and '.join(told)} alive"
