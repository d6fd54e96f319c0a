"""Where a delivery is durable before its sender is answered: the inbox itself, a spool, or a broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from landfast.domain.delivery import Delivery, Recorded


class Journal(Protocol):
    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        """Make all of them durable, then answer in the same order. Raises RowRefusedError when a row is refused for
        what it holds, and UnavailableError when it cannot be used or did not answer; either way nothing of the batch
        may be acknowledged. PartUnavailableError names the events without which it may take the others."""
        ...
