"""The workers' side: write what attempts came to."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.outcome import Settlement
from landfast.inboxes.sqlite import boxes, moves, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.ports.clock import Clock
from landfast.sealing import Seal


class Settling:
    _file: SqliteFile
    _clock: Clock
    _seal: Seal

    @in_thread
    def settle(self, settlements: Sequence[Settlement]) -> Sequence[bool]:
        """Crash before the COMMIT: the leases expire, and the next claim finds the receipts and settles again."""
        now = rows.micros(self._clock.now())
        with self._file.writing(durable=False) as connection:
            sealed = boxes.seal_settlements(connection, self._seal, settlements)
            return [moves.settle(connection, settlement, now) for settlement in sealed]
