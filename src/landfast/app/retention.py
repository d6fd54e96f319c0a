"""How long things are kept: the ages of each source from the settings, and the pass that goes by them by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress

from landfast import telemetry
from landfast.app.source_ages import ages_of, default_ages
from landfast.app.sources import profile_of
from landfast.app.stores import Stores
from landfast.config import Settings, SourceSettings
from landfast.domain.retention import Retention
from landfast.operations.retention import Pass, run_pass
from landfast.ports.clock import Chance, Clock

LOOK_EVERY_SECONDS = 60.0
"""Seconds between two looks at whether a pass is due. Of all workers on all machines, one makes it."""

PASS_EVERY_SECONDS = 6 * 3_600.0
"""Between the end of a pass and the next one."""

PASS_SECONDS = 6 * 3_600.0
"""That one pass may take. What is left then is begun with a minute later."""

PASS_SHARE = 0.01
"""Of the time, at first: more than that is what the slowest hundredth of the claims and records would feel."""


def retention_of(settings: Settings, sources: Iterable[SourceSettings]) -> Retention:
    """ConfigError where a source's memory is shorter than its sender's."""
    ages = {source.name: ages_of(source, profile_of(source), settings) for source in sources}
    return Retention(default_ages(settings), ages)


@asynccontextmanager
async def retaining(
    stores: Stores, retention: Retention, clock: Clock, chance: Chance, lay_ballast: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Passes made by themselves, for as long as this is open."""
    task = asyncio.create_task(_pass_for_ever(stores, retention, clock, chance, lay_ballast))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _pass_for_ever(
    stores: Stores, retention: Retention, clock: Clock, chance: Chance, lay_ballast: Callable[[], Awaitable[None]]
) -> None:
    while True:
        # Not at once: whoever starts has more urgent things to do, and a worker that falls over at once makes none.
        await clock.sleep(LOOK_EVERY_SECONDS * (1 + chance.fraction()))
        try:
            made = await run_pass(
                stores.inbox,
                stores.ledger,
                retention,
                identity=stores.identity,
                clock=clock,
                chance=chance,
                every=PASS_EVERY_SECONDS,
                share=PASS_SHARE,
                seconds=PASS_SECONDS,
            )
            if made is not None:
                _tell(made)
                await lay_ballast()
        except Exception as error:  # noqa: BLE001 - what is wrong with one pass must not end all of them
            telemetry.warn("retention_failed", error=error)


def _tell(made: Pass) -> None:
    total = made.total
    if total.events or total.bodies or made.receipts or made.effects or made.bytes_freed or made.unproven:
        telemetry.info(
            "retention_pass",
            events=total.events,
            bodies=total.bodies,
            receipts=made.receipts,
            effects=made.effects,
            bytes_freed=made.bytes_freed,
            held_back=made.held_back,
            unproven=made.unproven,
        )
