"""A hint that work is ready. Losing one costs latency only: a poll every second is always on."""

from __future__ import annotations

from typing import Protocol


class Wakeup(Protocol):
    def nudge(self) -> None:
        """Tell the workers, now or within a few milliseconds. Never blocks, never raises."""
        ...

    async def wait(self, seconds: float) -> None:
        """Return after a nudge that came since the last return, or after `seconds`."""
        ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...
