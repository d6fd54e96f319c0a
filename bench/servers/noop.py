"""Our own protocol with nothing behind it: what reading a request and writing an answer costs."""

from __future__ import annotations

import asyncio
import signal
from datetime import UTC, datetime
from typing import cast

import uvloop

from bench.servers import guard
from landfast.domain import answer
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head
from landfast.domain.ids import EventId
from landfast.intake.answers import answer_to
from landfast.intake.policy.unproven import Unproven
from landfast.intake.receive import Admitted, Answered, Intake
from landfast.intake.source import Source
from landfast.ports.provider import Secret, Signature
from landfast.providers import provider
from landfast.web.http.server import HttpServer


class EmptyIntake:
    """Takes everything for a duplicate, unread."""

    def __init__(self) -> None:
        source = Source("stripe", provider("stripe"), (Secret("none", b"none"),))
        self._admitted = Admitted(source, Head("POST", "/in/stripe"), Signature(()), datetime.now(UTC))
        self.unproven = Unproven()
        self._answer = answer.duplicate((EventId(bytes(16)),))
        self.ordinary = self
        self.lines = ()
        """None is an ordinary one: the general path is what this measures."""

    def admit(self, _head: Head) -> Admitted:
        return self._admitted

    def receive(self, _admitted: Admitted, _body: bytes, _answered: Answered) -> Answer:
        return self._answer

    def refuse(self, _source: str | None, error: Exception) -> Answer:
        return answer_to(error)


async def _serve() -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    listening = guard.listener()
    server = HttpServer(cast("Intake", EmptyIntake()))
    await server.start(listening)
    guard.say(listening.getsockname()[1])
    await stopping.wait()
    await server.stop(grace=1)


if __name__ == "__main__":
    guard.end_with_our_parent()
    uvloop.run(_serve())
