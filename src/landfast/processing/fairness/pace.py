"""How many events one transaction takes: one when there is time, many when there is a backlog of quick ones."""

from __future__ import annotations

from dataclasses import dataclass

GROUP_EVENTS_AT_MOST = 200
"""Beyond this a bigger group gains little and costs more when one event of it fails."""

GROUP_SECONDS_AT_MOST = 0.050
"""Seconds of handler time in one transaction: what one slow event may add to the wait of its neighbours."""


@dataclass(slots=True)
class Pace:
    size: int = 1

    def went(self, *, count: int, seconds: float) -> None:
        """A claim of `count` events took this long: grow while a full one is quick, shrink when it is slow."""
        if seconds > GROUP_SECONDS_AT_MOST:
            self.size = max(1, self.size // 2)
        elif count >= self.size and seconds < GROUP_SECONDS_AT_MOST / 2:
            self.size = min(GROUP_EVENTS_AT_MOST, self.size * 2)

    def stumbled(self) -> None:
        """An event failed in a group, and the whole of it had to run again."""
        self.size = max(1, self.size // 2)
