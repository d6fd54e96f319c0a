"""The workers' part: write what attempts came to."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.outcome import Settlement
from landfast.inboxes.postgres import boxes, moves
from landfast.inboxes.postgres.connection import Connections
from landfast.sealing import Seal
from landfast.sealing.values import tells


class Settling:
    _connections: Connections
    _seal: Seal

    async def settle(self, settlements: Sequence[Settlement]) -> Sequence[bool]:
        grouped = moves.groups(settlements)
        if not grouped:
            return []
        if self._seal.is_on and any(map(tells, settlements)):
            async with self._connections.working() as connection:
                settlements = await boxes.seal_settlements(connection, self._seal, settlements)
        # Dead before the COMMIT: the leases expire, and the next claims find the receipts and settle by them. Most
        # batches go one way, and one statement needs no transaction.
        lent = self._connections.working() if len(grouped) == 1 else self._connections.transaction()
        async with lent as connection:
            return await moves.settle(connection, settlements, grouped)
