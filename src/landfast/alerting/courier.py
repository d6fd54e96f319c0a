"""Brings messages to their sinks, each sink in a task of its own.

A message is taken from the inbox under a lease, sent, and deleted. Dead between the last two, it is sent again under
the same id: at least once.
"""

from __future__ import annotations

import asyncio

from landfast import telemetry
from landfast.alerting.content import decoded
from landfast.alerting.senders import Senders
from landfast.alerting.sink import SinkError
from landfast.domain.errors import StoreError
from landfast.domain.message import WaitingMessage
from landfast.ports.alerts import Outbox

LEASE_SECONDS = 120.0
"""Until a message counts as not sent whose courier has died: longer than all that are taken at once may take."""

TAKEN_AT_ONCE = 3

FIRST_RETRY_SECONDS = 15.0
LONGEST_RETRY_SECONDS = 900.0
TRIES_AT_MOST = 100
"""A day, at that. Who reads it then has known for long; it stays in `landfast alerts list`."""


class Courier:
    def __init__(self, outbox: Outbox, senders: Senders) -> None:
        self._outbox = outbox
        self._senders = senders
        self._running: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Bring what is due, in the background. A sink that is still busy is left to it."""
        for name in self._senders.sinks:
            before = self._running.get(name)
            if before is None or before.done():
                self._running[name] = asyncio.create_task(self._serve(name))

    async def finish(self) -> None:
        """Wait for what is under way."""
        if self._running:
            await asyncio.wait(self._running.values())

    async def close(self) -> None:
        for task in self._running.values():
            task.cancel()
        await self.finish()

    async def _serve(self, name: str) -> None:
        try:
            while taken := await self._outbox.take_messages([name], limit=TAKEN_AT_ONCE, lease=LEASE_SECONDS):
                for waiting in taken:
                    await self._bring(waiting)
                if len(taken) < TAKEN_AT_ONCE:
                    return
        except StoreError as error:
            telemetry.warn("alerts_not_brought", sink=name, error=error)

    async def _bring(self, waiting: WaitingMessage) -> None:
        message, error = waiting.message, ""
        pause = min(FIRST_RETRY_SECONDS * 2.0 ** min(waiting.tries - 1, 10), LONGEST_RETRY_SECONDS)
        try:
            await self._senders.send(message.sink, decoded(message.content))
        except SinkError as refused:
            error, pause = str(refused), max(pause, refused.retry_after)
        if not error:
            await self._outbox.drop_message(message)
            telemetry.info("alert_sent", sink=message.sink, notice=message.id)
        elif waiting.tries < TRIES_AT_MOST:
            telemetry.warn(
                "alert_not_sent", sink=message.sink, notice=message.id, error=error, retry_seconds=f"{pause:g}"
            )
            await self._outbox.put_off_message(message, due_in=pause, error=error)
        else:
            telemetry.error("alert_lost", sink=message.sink, notice=message.id, error=error)
            await self._outbox.put_off_message(message, due_in=None, error=error)
