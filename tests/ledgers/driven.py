"""A transaction as a worker runs it: on the loop, or all of it in its thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from landfast.ports.ledger import LedgerTransaction
from landfast.thread_calls import finish

T = TypeVar("T")


async def in_its_place(tx: LedgerTransaction, work: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
    """`work` commits it or rolls it back."""
    if tx.lane is None:
        return await work(tx)
    result, error = await tx.lane.drive(work).ended
    await tx.lane.leave()
    if error is not None:
        raise error
    value: T = result
    return value


async def handled(tx: Any, handler: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """The handler of one event, where its transaction is. In a thread none of its calls suspends."""
    if tx.lane is None:
        await handler()
    else:
        tx.call(lambda: finish(handler()), is_async=False)
