"""Has an intake say in the operator log that it started with other secrets than those before it."""

from __future__ import annotations

import asyncio
import getpass
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from landfast import telemetry
from landfast.domain.errors import LandfastError
from landfast.intake.source import Source
from landfast.operations.secret_changes import note_secrets
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox

AFTER_SECONDS = 5.0
"""The start is over by then. Several intakes that start together look at different moments, so that one of them finds
the line of another."""


@asynccontextmanager
async def noting_secrets(inbox: Inbox, sources: Sequence[Source], clock: Clock, chance: Chance) -> AsyncIterator[None]:
    task = asyncio.create_task(_note(inbox, sources, clock, chance))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _note(inbox: Inbox, sources: Sequence[Source], clock: Clock, chance: Chance) -> None:
    await clock.sleep(AFTER_SECONDS * (1 + chance.fraction()))
    try:
        await note_secrets(inbox, {source.name: source.secrets for source in sources}, who=_user())
    except LandfastError as error:
        telemetry.warn("operator_log_not_looked_at", error=error)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's nameless user
        return f"uid {os.getuid()}"
