"""Whoever has to wait for another transaction. Nobody waits for longer than a second, so on a machine that stands still
for one the answer may be that it is busy: then it is asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from landfast.domain.errors import ReceiptBusyError
from landfast.ledgers import limits
from landfast.testing.conformance.ledger.desk import DEADLINE

A_MOMENT = 0.1
"""Seconds in which who does not have to wait would have its answer."""

T = TypeVar("T")


async def held_up(ask: Callable[[], Awaitable[T]]) -> asyncio.Future[T]:
    """Asked now, and not answered in a moment, unless that moment took as long as anybody waits."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    first = asyncio.ensure_future(_unless_busy(ask))
    await asyncio.wait({first}, timeout=A_MOMENT)
    is_busy = first.done() and first.result() is None and loop.time() - began > limits.RECEIPT_WAIT / 2
    assert is_busy or not first.done(), "it did not wait"

    async def answer() -> T:
        found = await first
        return found[0] if found is not None else await patiently(ask)

    return asyncio.ensure_future(answer())


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Asked until somebody is not busy."""
    async with asyncio.timeout(DEADLINE):
        while (found := await _unless_busy(ask)) is None:  # noqa: ASYNC110 - nobody tells when it is free
            await asyncio.sleep(A_MOMENT)
    return found[0]


async def _unless_busy(ask: Callable[[], Awaitable[T]]) -> tuple[T] | None:
    try:
        return (await ask(),)
    except ReceiptBusyError:
        return None
