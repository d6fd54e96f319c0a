"""A SQLite inbox in a test's hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from landfast.inboxes.sqlite import SqliteInbox
from landfast.sealing import Seal
from landfast.testing.clock import ManualClock, SeededChance


class SqliteBench:
    def __init__(self, path: Path, *, master: bytes | None = None) -> None:
        self.path = path
        self.masters = [] if master is None else [master]
        self.clock = ManualClock()
        self.inbox = SqliteInbox(path, clock=self.clock, chance=SeededChance(), seal=Seal(self.masters))
        self._others: list[SqliteInbox] = []

    async def another(self) -> SqliteInbox:
        other = SqliteInbox(self.path, clock=self.clock, chance=SeededChance(1), seal=Seal(self.masters))
        await other.open()
        self._others.append(other)
        return other

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    async def close(self) -> None:
        for inbox in (*self._others, self.inbox):
            await inbox.close()


def closed_inbox(path: Path) -> SqliteInbox:
    return SqliteInbox(path, clock=ManualClock(), chance=SeededChance())


def by_hand(path: Path, sql: str) -> list[Any]:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()
