"""Many hands at once, or one suspect alone: only then is a crash the suspect's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._inside = 0
        self._alone_wanted = 0

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._alone_wanted)
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
            self._alone_wanted += 1
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: not self._inside)
                self._inside += 1
            try:
                yield
            finally:
                async with self._changed:
                    self._inside -= 1
        finally:
            async with self._changed:
                self._alone_wanted -= 1
                self._changed.notify_all()
