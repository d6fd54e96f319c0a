"""Record rows one by one, after the inbox refused one of them: it must not keep its neighbours out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from landfast.domain.delivery import Delivery
from landfast.domain.errors import RowRefusedError

Row = TypeVar("Row")


class Refused(NamedTuple):
    delivery: Delivery
    error: RowRefusedError


async def record_apart(
    record: Callable[[Sequence[Delivery]], Awaitable[Sequence[Row]]], deliveries: Sequence[Delivery]
) -> tuple[list[Row], list[Refused]]:
    """Record them in halves, and halves of these, until what is refused is alone. Each part is a COMMIT of its own."""
    recorded: list[Row] = []
    refused: list[Refused] = []
    parts = [list(deliveries)]
    while parts:
        part = parts.pop()
        try:
            recorded += await record(part)
        except RowRefusedError as error:
            if len(part) > 1:
                middle = len(part) // 2
                parts += [part[middle:], part[:middle]]
                continue
            refused.append(Refused(part[0], error))
    return recorded, refused
