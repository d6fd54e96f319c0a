"""Something that is open from a first request to an end that somebody else decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

from landfast import telemetry

T = TypeVar("T")


class Life(Generic[T]):
    """One opening, from start to end in one task: whoever asked first may be gone when it ends."""

    def __init__(self, open_: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._made: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._ending = asyncio.Event()
        self._task = asyncio.create_task(self._run(open_))

    @property
    def is_over(self) -> bool:
        return self._task.done()

    async def opened(self) -> T:
        return await asyncio.shield(self._made)

    async def close(self) -> None:
        self._ending.set()
        await self._task

    async def _run(self, open_: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        try:
            async with open_() as made:
                self._made.set_result(made)
                await self._ending.wait()
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the opening
            if self._made.done():
                telemetry.error("mount_close_failed", trace=error)
            else:
                self._made.set_exception(error)
