"""The thread of an inbox's file, and how long anybody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from landfast.domain.errors import InboxUnavailableError
from landfast.own_thread import OwnThread

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds until a call is given up. A disk that takes longer is as good as gone; senders give up after ten."""


class PatientThread(OwnThread):
    async def run(self, job: Callable[[], T]) -> T:
        try:
            async with asyncio.timeout(PATIENCE):
                return await super().run(job)
        except TimeoutError:
            raise InboxUnavailableError(f"the inbox did not answer within {PATIENCE:g} seconds") from None
