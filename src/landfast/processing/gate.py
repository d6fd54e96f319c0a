"""Many hands at once, or one suspect alone: only then is a crash the suspect's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

PATIENCE = 10.0
"""Seconds that a suspect waits for a moment in which nothing else runs. Only then are newcomers held back for it, so
that one long effect does not stop all the hands."""


class Gate:
    def __init__(self, patience: float = PATIENCE) -> None:
        self._changed = asyncio.Condition()
        self._inside = 0
        self._held_back = 0
        self._patience = patience

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._held_back)
            self._inside += 1
        try:
            yield
        finally:
            async with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        async with self._changed:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience):
                    await self._changed.wait_for(lambda: not self._inside)
            self._held_back += 1
            try:
                await self._changed.wait_for(lambda: not self._inside)
                self._inside += 1
            except BaseException:
                self._let_in()
                raise
        try:
            yield
        finally:
            async with self._changed:
                self._inside -= 1
                self._let_in()

    def _let_in(self) -> None:
        self._held_back -= 1
        self._changed.notify_all()
