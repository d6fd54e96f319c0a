"""Which events still need their receipts, for the ledger: what is old and known, and whatever is unfinished."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from landfast.inboxes.sqlite import rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock


class Living:
    _file: SqliteFile
    _clock: Clock

    async def living(self, *, older_than: float, chunk: int) -> AsyncIterator[Sequence[tuple[str, str]]]:
        before = moment_before(rows.micros(self._clock.now()), older_than)
        asked = {"after_at": 0, "after_id": b"", "before": before, "window": chunk}
        while found := await self._living("retain_living", asked):
            yield [(source, key) for source, key, _, _ in found]
            _, _, asked["after_at"], asked["after_id"] = found[-1]
        asked["after_id"] = b""
        while found := await self._living("retain_waiting", asked):
            # Of the known, those that are done or were among the first have no name here.
            yield [(source, key) for _, source, key in found if source is not None]
            asked["after_id"] = found[-1][0]

    @in_thread
    def _living(self, walk: str, asked: Mapping[str, Any]) -> list[Any]:
        with self._file.reading() as connection:
            return ask(connection, walk, asked)


def moment_before(now: int, age: float) -> int:
    """What came before this is older than the age."""
    return now - rows.micros_in(age) if math.isfinite(age) else -(2**62)
