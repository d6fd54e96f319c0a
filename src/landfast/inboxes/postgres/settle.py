"""The workers' part: write what attempts came to."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.outcome import Settlement
from landfast.inboxes.postgres import boxes, lanes, moves
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.flows import Flows
from landfast.sealing import Seal
from landfast.sealing.values import tells


class Settling:
    _connections: Connections
    _seal: Seal
    _flows: Flows
    _watermark: int

    async def settle(self, settlements: Sequence[Settlement]) -> Sequence[bool]:
        grouped = moves.groups(settlements)
        if not grouped:
            return []
        if self._seal.is_on and any(map(tells, settlements)):
            async with self._connections.working() as connection:
                settlements = await boxes.seal_settlements(connection, self._seal, settlements)
        # Dead before the COMMIT: the leases expire, and the next claims find the receipts and settle by them. Most
        # batches go one way, and one statement needs no transaction.
        held = {settlement.lane for settlement in settlements if settlement.lane is not None}
        is_one = len(grouped) == 1 and not held
        async with self._connections.working() if is_one else self._connections.transaction() as connection:
            if held:
                await lanes.lock(connection, held)
            return await moves.settle(connection, settlements, grouped, promoted=self._rewind)

    def _rewind(self, seq: int) -> None:
        """The next claim begins where a lane went on, below what was claimed last. Others find it at their rescan."""
        self._watermark = min(self._watermark, seq - 1)
        self._flows.rewind(seq)
