"""Has the ledger know how far the operator log goes, and tells the log of the process: so that a log that is cut, or
put back as it was, is noticed. A worker does it, because it has both databases open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from landfast import telemetry
from landfast.app.stores import Stores
from landfast.domain.errors import LandfastError
from landfast.operations.operator_log import anchor
from landfast.ports.clock import Clock

ANCHOR_EVERY_SECONDS = 60.0
"""What was written since the last look could be cut without being missed. A look costs two reads."""


@asynccontextmanager
async def watching_operators(stores: Stores, clock: Clock) -> AsyncIterator[None]:
    task = asyncio.create_task(_watch(stores, clock))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _watch(stores: Stores, clock: Clock) -> None:
    told = ""
    while True:
        try:
            newest = await anchor(stores.inbox, stores.ledger, stores.identity)
            if newest is not None:
                facts = {"line": newest.seq, "action": newest.entry.action, "digest": newest.digest}
                telemetry.info("operator_log_grew", **facts)
            told = ""
        except LandfastError as error:  # one of the databases is away, which others say
            if told != str(error):
                telemetry.warn("operator_log_not_looked_at", error=error)
            told = str(error)
        await clock.sleep(ANCHOR_EVERY_SECONDS)
