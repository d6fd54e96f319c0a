"""What flows, who is at work and who was turned away: told by the processes, read by operators and alerts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from landfast.domain.ids import BootId
from landfast.domain.rates import Heartbeat, Latest, Meter, Rate, Rejection, Waiting


class Rates(Protocol):
    async def add_rates(self, rates: Sequence[Rate], *, report: int | None = None) -> None:
        """Add these to what is there, in one statement or transaction. `report` is a number that grows with each report
        of this boot: one that comes again, because its answer was lost, adds nothing."""
        ...

    async def rates(
        self,
        since: datetime,
        until: datetime | None = None,
        *,
        meters: Collection[Meter] | None = None,
        source: str | None = None,
    ) -> Sequence[Rate]:
        """Those that begin at `since` or later and before `until`, oldest first: by the minute for two days, and then
        by the hour. Of these meters, and of this source, or of all."""
        ...

    async def latest_rates(self) -> Sequence[Latest]:
        """When each meter last counted anything, by meter, source and handler: to the second, and for a report that
        came late to the minute. Kept for ever, and there is one for each source and handler at most."""
        ...

    async def fold_rates(self) -> bool:
        """Add up minutes that are older than two days to hours, and drop hours and rejections that are older than 35
        days, and heartbeats that ended a day ago. So many rows at most; whether there may be more."""
        ...

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Keep what this process says of itself, in place of what it said before."""
        ...

    async def heartbeats(self) -> Sequence[Heartbeat]:
        """The last of each process, also of one that fell silent within the last day, by role, host and pid."""
        ...

    async def leave(self, boot: BootId) -> None:
        """The process has ended in order: nobody needs to look for it."""
        ...

    async def waiting(self) -> Sequence[Waiting]:
        """Every source and type that has ready events, `FLOWS_AT_MOST` at most, with the time since which the oldest
        waits, oldest first. A million events of one of them make this no slower."""
        ...

    async def add_rejections(self, rejections: Sequence[Rejection]) -> None:
        """Keep these, one row for each minute, source, cause and address of this boot: of a row that is there already
        the larger count. Of all there are, the newest are kept, and of one source not more than a part."""
        ...

    async def rejections(
        self, *, since: datetime | None = None, source: str | None = None, limit: int = 100
    ) -> Sequence[Rejection]:
        """Newest first."""
        ...
