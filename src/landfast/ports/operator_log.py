"""The operator log of an inbox: lines are added, read and never changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from landfast.domain.operator_log import End, Entry, Line


class OperatorLog(Protocol):
    async def add_to_operator_log(self, entry: Entry) -> Line:
        """Durably, behind the last line, and the end moved with it in one COMMIT. Of several who add at the same time,
        each gets a place of its own, without a gap. The first one draws the log's key. Where this inbox is sealed, the
        key is too; one that was drawn in clear before is sealed now. SealedError without the master key for it."""
        ...

    async def operator_log(self, *, after: int, upto: int, limit: int) -> Sequence[Line]:
        """Lines with numbers in (after, upto], oldest first, as they stand there."""
        ...

    async def latest_operations(
        self, *, limit: int, before: int | None = None, since: datetime | None = None
    ) -> Sequence[Line]:
        """Newest first: with smaller numbers than `before`, and not older than `since`. A line that stands behind the
        end, or before the first, is none of the log's, and left out."""
        ...

    async def operator_log_end(self) -> End | None:
        """None for a log that has no line, and for one whose end somebody has taken away."""
        ...

    async def operator_log_key(self) -> bytes | None:
        """What the digests are made with; None before the first line. SealedError without the master key for it."""
        ...
