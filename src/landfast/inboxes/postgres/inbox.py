"""One object that is the whole inbox: each verb's module gives it its part."""

from __future__ import annotations

from landfast.domain.census import TallyReport
from landfast.domain.ids import BootId
from landfast.inboxes.postgres.archive import Archiving
from landfast.inboxes.postgres.audit import Auditing
from landfast.inboxes.postgres.census import Counting
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.erase import Erasing
from landfast.inboxes.postgres.held import Holding
from landfast.inboxes.postgres.housekeeping import Housekeeping
from landfast.inboxes.postgres.memory import Remembering
from landfast.inboxes.postgres.record import Recording
from landfast.inboxes.postgres.settle import Settling
from landfast.inboxes.postgres.work import Working
from landfast.ports.clock import Chance, Clock
from landfast.sealing import Seal


class PostgresInbox(
    Recording, Working, Settling, Archiving, Counting, Auditing, Holding, Erasing, Remembering, Housekeeping
):
    """Every port of an inbox, and Store. `pool` is how many connections workers and operators share; intake has
    its own beside them."""

    def __init__(self, dsn: str, *, clock: Clock, chance: Chance, pool: int = 4, seal: Seal | None = None) -> None:
        seal = seal or Seal()
        connections = Connections(dsn, pool=pool)
        Recording.__init__(self, connections, BootId(chance.bytes(8)), seal)
        Working.__init__(self, connections, clock, seal)
        Settling.__init__(self, connections, seal)
        Archiving.__init__(self, connections, seal)
        Counting.__init__(self, connections)
        Auditing.__init__(self, connections)
        Holding.__init__(self, connections)
        Erasing.__init__(self, connections, clock)
        Remembering.__init__(self, connections, chance, seal)
        Housekeeping.__init__(self, connections, clock, chance)

    async def tally(self, report: TallyReport) -> None:
        await Recording.tally(self, report)
        await self.prepare_daily()  # an intake process may run for months
