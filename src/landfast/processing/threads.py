"""The threads that `def` handlers run in. One that overran its deadline still runs, and may take the process along."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Threads:
    def __init__(self, count: int) -> None:
        self.pool = ThreadPoolExecutor(count, thread_name_prefix="landfast-handler")
        self._overrunning: set[asyncio.Future[Any]] = set()

    @property
    def are_overrunning(self) -> bool:
        return bool(self._overrunning)

    def overran(self, running: asyncio.Future[Any]) -> None:
        self._overrunning.add(running)
        running.add_done_callback(self._overrunning.discard)

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
