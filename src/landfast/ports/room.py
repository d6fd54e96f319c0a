"""The room that an inbox takes on its disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from landfast.domain.room import Compacted, Room


class RoomyInbox(Protocol):
    async def room(self) -> Room: ...

    async def compact(self, *, report: Callable[[int, int], None]) -> Compacted:
        """Give all that is free inside back to the disk, at once. Nobody can write meanwhile. `report` hears how many
        bytes of how many. Cancelled or killed, it leaves the inbox as it was. UserError where there is not room enough
        to do it, or where it is of no use."""
        ...

    def alone(self) -> AbstractAsyncContextManager[None]:
        """For as long as a disk is full: where others who write could take the room that is being made, they wait, and
        what is removed is given back to the disk at once, down to the last page. A ballast makes room meanwhile."""
        ...

    async def lay_ballast(self, size: int) -> None:
        """Keep so many bytes back for a full disk, where the disk is a server's and the inbox is larger than that; 0
        for none. Nothing where it is a file: whoever has the folder lays one beside it."""
        ...
