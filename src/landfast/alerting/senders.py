"""The sinks at work: each in a thread of its own, so that one that hangs delays no other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from landfast import telemetry
from landfast.alerting.content import Content
from landfast.alerting.sink import Sink, SinkError
from landfast.own_thread import OwnThread

SEND_SECONDS = 30.0
"""For one message, whatever its sink does."""


class Senders:
    def __init__(self, sinks: Sequence[Sink]) -> None:
        self.sinks = {sink.name: sink for sink in sinks}
        self._threads = {sink.name: OwnThread(f"landfast alerts {sink.name}") for sink in sinks}
        self._busy: set[str] = set()

    async def send(self, name: str, content: Content) -> str:
        """To one sink, now; what it answered. SinkError, also where it takes too long."""
        try:
            async with asyncio.timeout(SEND_SECONDS):
                return await self._threads[name].run(partial(self._send, name, content))
        except TimeoutError:
            raise SinkError(f"no answer within {SEND_SECONDS:.0f} s") from None
        except SinkError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug of ours or of a library: as good as one that is away
            telemetry.error("alert_not_made", sink=name, trace=error)
            raise SinkError(type(error).__name__) from None

    def close(self) -> None:
        for name, thread in self._threads.items():
            if name not in self._busy:  # one that is has steps of ten seconds, and nobody may wait for them at the end
                thread.stop()

    def _send(self, name: str, content: Content) -> str:
        self._busy.add(name)
        try:
            return self.sinks[name].send(content)
        finally:
            self._busy.discard(name)
