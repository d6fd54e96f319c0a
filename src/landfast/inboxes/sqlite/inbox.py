"""The driver, put together."""

from __future__ import annotations

from pathlib import Path

from landfast.domain.ids import BootId
from landfast.inboxes.sqlite.archive import Archiving
from landfast.inboxes.sqlite.audit import Auditing
from landfast.inboxes.sqlite.census import Counting
from landfast.inboxes.sqlite.connection import SqliteFile
from landfast.inboxes.sqlite.erase import Erasing
from landfast.inboxes.sqlite.find import Finding
from landfast.inboxes.sqlite.held import Holding
from landfast.inboxes.sqlite.housekeeping import Housekeeping
from landfast.inboxes.sqlite.memory import Remembering
from landfast.inboxes.sqlite.record import Recording
from landfast.inboxes.sqlite.settle import Settling
from landfast.inboxes.sqlite.work import Working
from landfast.ports.clock import Chance, Clock
from landfast.sealing import Seal


class SqliteInbox(
    Recording, Working, Settling, Archiving, Finding, Counting, Auditing, Holding, Erasing, Remembering, Housekeeping
):
    """Every port of an inbox, in one SQLite file, one instance per process. Each mixin is one side."""

    def __init__(self, path: str | Path, *, clock: Clock, chance: Chance, seal: Seal | None = None) -> None:
        self._file = SqliteFile(path)
        self._clock = clock
        self._chance = chance
        self._seal = seal or Seal()
        self.boot = BootId(chance.bytes(8))
