"""The driver, put together."""

from __future__ import annotations

from landfast.domain.census import TallyReport
from landfast.domain.ids import BootId
from landfast.inboxes.postgres.alerts import Alerting
from landfast.inboxes.postgres.archive import Archiving
from landfast.inboxes.postgres.audit import Auditing
from landfast.inboxes.postgres.census import Counting
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.erase import Erasing
from landfast.inboxes.postgres.failures import Failing
from landfast.inboxes.postgres.find import Finding
from landfast.inboxes.postgres.flows import Flows
from landfast.inboxes.postgres.held import Holding
from landfast.inboxes.postgres.housekeeping import Housekeeping
from landfast.inboxes.postgres.jobs import Jobs
from landfast.inboxes.postgres.lane_views import ViewingLanes
from landfast.inboxes.postgres.memory import Remembering
from landfast.inboxes.postgres.operator_log import LoggingOperators
from landfast.inboxes.postgres.rates import Rating
from landfast.inboxes.postgres.reconciliation import NotingReconciliations
from landfast.inboxes.postgres.record import Recording
from landfast.inboxes.postgres.retention import Retaining
from landfast.inboxes.postgres.room import Roomy
from landfast.inboxes.postgres.settle import Settling
from landfast.inboxes.postgres.tokens import KeepingTokens
from landfast.inboxes.postgres.turnstile import LettingThrough
from landfast.inboxes.postgres.work import Working
from landfast.ports.clock import Chance, Clock
from landfast.sealing import Seal


class PostgresInbox(
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
    Remembering,
    Retaining,
    Rating,
    LoggingOperators,
    NotingReconciliations,
    KeepingTokens,
    LettingThrough,
    Roomy,
    Alerting,
    Housekeeping,
):
    """Every port of an inbox. `pool` is how many connections workers and operators share; intake has its own beside
    them. Each mixin is one side."""

    def __init__(self, dsn: str, *, clock: Clock, chance: Chance, pool: int = 4, seal: Seal | None = None) -> None:
        self._connections = Connections(dsn, pool=pool)
        self._clock = clock
        self._chance = chance
        self._seal = seal or Seal()
        self._flows = Flows(clock)
        self.boot = BootId(chance.bytes(8))

    async def tally(self, report: TallyReport) -> None:
        await Recording.tally(self, report)
        await self.prepare_daily()  # an intake process may run for months
