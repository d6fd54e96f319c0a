"""The driver, put together."""

from __future__ import annotations

from pathlib import Path

from landfast.domain.ids import BootId
from landfast.inboxes.sqlite.alerts import Alerting
from landfast.inboxes.sqlite.archive import Archiving
from landfast.inboxes.sqlite.audit import Auditing
from landfast.inboxes.sqlite.census import Counting
from landfast.inboxes.sqlite.compact import Compacting
from landfast.inboxes.sqlite.connection import SqliteFile
from landfast.inboxes.sqlite.erase import Erasing
from landfast.inboxes.sqlite.failures import Failing
from landfast.inboxes.sqlite.find import Finding
from landfast.inboxes.sqlite.held import Holding
from landfast.inboxes.sqlite.housekeeping import Housekeeping
from landfast.inboxes.sqlite.jobs import Jobs
from landfast.inboxes.sqlite.lane_views import ViewingLanes
from landfast.inboxes.sqlite.memory import Remembering
from landfast.inboxes.sqlite.operator_log import LoggingOperators
from landfast.inboxes.sqlite.rates import Rating
from landfast.inboxes.sqlite.reconciliation import NotingReconciliations
from landfast.inboxes.sqlite.record import Recording
from landfast.inboxes.sqlite.retention import Retaining
from landfast.inboxes.sqlite.settle import Settling
from landfast.inboxes.sqlite.tokens import KeepingTokens
from landfast.inboxes.sqlite.turnstile import LettingThrough
from landfast.inboxes.sqlite.work import Working
from landfast.ports.clock import Chance, Clock
from landfast.sealing import Seal


class SqliteInbox(
    Recording,
    Working,
    Settling,
    Archiving,
    Finding,
    Failing,
    ViewingLanes,
    Jobs,
    Counting,
    Auditing,
    Holding,
    Erasing,
    Retaining,
    Compacting,
    Remembering,
    Rating,
    LoggingOperators,
    NotingReconciliations,
    KeepingTokens,
    LettingThrough,
    Alerting,
    Housekeeping,
):
    """Every port of an inbox, in one SQLite file, one instance per process. Each mixin is one side."""

    def __init__(self, path: str | Path, *, clock: Clock, chance: Chance, seal: Seal | None = None) -> None:
        self._file = SqliteFile(path)
        self._clock = clock
        self._chance = chance
        self._seal = seal or Seal()
        self.boot = BootId(chance.bytes(8))
