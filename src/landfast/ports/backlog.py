"""Deliveries that are durable, and that the inbox does not know of yet: what a spool or a broker holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from landfast.domain.delivery import Delivery


class Taken(NamedTuple):
    """One request as it was made durable."""

    deliveries: Sequence[Delivery]
    handle: Any
    """How whoever holds it finds it again."""


class Backlog(Protocol):
    async def take(self, limit: int) -> Sequence[Taken]:
        """The oldest ones, about `limit` deliveries; none when there is nothing. What is taken and neither forgotten
        nor set aside is taken again later, also by another process after a crash."""
        ...

    async def forget(self, taken: Sequence[Taken]) -> None:
        """They are in the inbox, by its COMMIT. Crash before this: they are taken again, and the inbox knows them."""
        ...

    async def give_back(self, taken: Sequence[Taken]) -> None:
        """The inbox cannot take them now; the next `take` returns them again."""
        ...

    async def set_aside(self, taken: Taken, why: str) -> None:
        """The inbox refuses these deliveries, whoever asks; what else its request brought is in the inbox. Keep them
        where an operator finds them, let go of the request, and go on behind it."""
        ...
