"""Which sessions somebody has ended, as far as it is known here: the lines of the operator log since the last look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from landfast.admin.access.token_book import KNOWN_SECONDS
from landfast.admin.desk import Desk
from landfast.domain.operator_log import Line
from landfast.operations.sessions import LONGEST, ended_by

LINES_AT_ONCE = 1_000


class EndedSessions:
    """A session that was ended is over everywhere after `KNOWN_SECONDS`, as a token that was revoked is."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._ended: dict[str, datetime] = {}
        self._read_to: int | None = None
        self._read_at = 0.0

    async def has(self, session: str) -> bool:
        """StoreError where the inbox is away: nobody is let in by a list that nobody can check."""
        now = self._desk.inbox.clock.monotonic()
        if self._read_to is None or now - self._read_at > KNOWN_SECONDS:
            await self._desk.open()
            await self._read()
            self._read_at = now
        return session in self._ended

    def look_again(self) -> None:
        """Somebody has ended one here: the next who asks reads it."""
        self._read_at = float("-inf")

    async def _read(self) -> None:
        log, oldest = self._desk.archive, self._desk.now() - LONGEST
        if self._read_to is None:
            before, newest = None, 0
            while lines := await log.latest_operations(limit=LINES_AT_ONCE, before=before, since=oldest):
                newest, before = max(newest, lines[0].seq), lines[-1].seq
                self._take(lines)
            end = await log.operator_log_end() if not newest else None
            self._read_to = newest or (end.seq if end else 0)
            return
        # Up to the end, and no line behind it: whoever put one there would have us read on from its number, and past
        # whatever is ended from now on.
        end = await log.operator_log_end()
        upto = self._read_to if end is None else end.seq
        while lines := await log.operator_log(after=self._read_to, upto=upto, limit=LINES_AT_ONCE):
            self._read_to = lines[-1].seq
            self._take(lines)
        self._ended = {session: at for session, at in self._ended.items() if at > oldest}

    def _take(self, lines: Sequence[Line]) -> None:
        for line in lines:
            if (session := ended_by(line)) is not None:
                self._ended[session] = line.at
