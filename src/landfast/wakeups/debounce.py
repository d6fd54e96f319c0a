"""Many nudges, few messages: the first goes out at once, those within the pause after it become one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PAUSE_SECONDS = 0.005
"""Seconds: 200 messages a second cost nothing, and nobody notices 5 ms where an idle worker starts in 5."""


class Debounce:
    """Calls `send`, which must not raise, at most once in a pause. Belongs to the loop that it is made on."""

    def __init__(self, send: Callable[[], None]) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._pausing: asyncio.TimerHandle | None = None
        self._asked = False

    def ask(self) -> None:
        if self._pausing is not None:
            self._asked = True
            return
        self._send()
        self._pausing = self._loop.call_later(PAUSE_SECONDS, self._resume)

    def stop(self) -> None:
        if self._pausing is not None:
            self._pausing.cancel()

    def _resume(self) -> None:
        self._pausing = None
        if self._asked:
            self._asked = False
            self.ask()
