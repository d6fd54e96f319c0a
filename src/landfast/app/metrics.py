"""`/metrics`: what the processes have counted, and what the inbox knows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from math import inf

from landfast.domain.answer import Answer
from landfast.domain.errors import LandfastError
from landfast.domain.lifecycle import State
from landfast.domain.rates import Meter
from landfast.domain.switch import SwitchKind
from landfast.ports.inbox import Inbox
from landfast.telemetry import metrics
from landfast.telemetry.exposition import CONTENT_TYPE, Reading, Sums, text
from landfast.web.asgi import Receive, Scope, Send, headers_of, send_answer
from landfast.web.wsgi import Environ, StartResponse, respond

INBOX_SECONDS = 2.0
"""For the inbox's answer. Without one its metrics are left out, which an alert can see; the others are told."""

KEPT_SECONDS = 1.0
"""What the inbox said is told again for so long: whoever asks more often costs it nothing."""

EVENTS = "landfast_events"
OLDEST_READY = "landfast_oldest_ready_seconds"
BREAKERS = "landfast_breaker_state"
READ_FROM_THE_INBOX = {
    EVENTS: ("state", "Events by state, as the inbox counts them."),
    OLDEST_READY: ("", "How long the oldest event waits that is ready to be processed; 0 where none waits."),
    BREAKERS: ("name", "1 while a breaker is open, for all workers: of the ledger, of a handler, or of what it uses."),
}
"""Metrics that are asked for, with their labels and what they say. The processes count the others."""


def own_sums() -> Sums:
    """What this process alone has counted."""
    metrics.refresh()
    sums = Sums()
    sums.add(metrics.page())
    return sums


class Metrics:
    def __init__(
        self,
        archive: Callable[[], AbstractAsyncContextManager[Inbox]],
        breakers: Callable[[], Iterable[str]],
        sums: Callable[[], Sums] = own_sums,
    ) -> None:
        """`archive` opens the inbox, `breakers` are those that there may be besides the ledger's."""
        self._archive = archive
        self._breakers = breakers
        self._sums = sums
        self._readings: Sequence[Reading] = ()
        self._last_seen: Mapping[str, float] = {}
        self._read_at = -inf

    def over(self, sums: Callable[[], Sums]) -> Metrics:
        """The same, over all that these sums count."""
        return Metrics(self._archive, self._breakers, sums)

    async def text(self) -> bytes:
        """In Prometheus's text format. Never raises for an inbox that is away."""
        if time.monotonic() - self._read_at > KEPT_SECONDS:
            self._readings, self._last_seen = await self._asked()
            self._read_at = time.monotonic()
        sums = self._sums()
        sums.at_least(metrics.LAST_SEEN, self._last_seen)
        return text(sums, self._readings)

    async def asgi(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """An ASGI application of one page, wherever it is mounted."""
        if scope["type"] == "http":
            answer = Answer(200, await self.text(), CONTENT_TYPE)
            await send_answer(send, answer, is_head=scope["method"] == "HEAD")

    def wsgi(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """The same for WSGI."""
        body = b"" if environ["REQUEST_METHOD"] == "HEAD" else asyncio.run(self.text())
        return respond(start_response, 200, headers_of(Answer(200, body, CONTENT_TYPE)), body)

    async def _asked(self) -> tuple[Sequence[Reading], Mapping[str, float]]:
        try:
            async with asyncio.timeout(INBOX_SECONDS), self._archive() as inbox:
                return await read(inbox, self._breakers()), await last_seen(inbox)
        except (LandfastError, TimeoutError, OSError):
            return (), self._last_seen


async def read(inbox: Inbox, breakers: Iterable[str]) -> Sequence[Reading]:
    census = await inbox.census()
    open_ = {switch.name for switch in await inbox.switches() if switch.kind is SwitchKind.BREAKER}
    names = ["ledger", *breakers]
    oldest = 0.0
    if census.oldest_ready is not None and census.at is not None:
        oldest = max(0.0, (census.at - census.oldest_ready).total_seconds())
    return (
        _reading(EVENTS, {state.value: census.states.get(state, 0) for state in State}),
        _reading(OLDEST_READY, {"": oldest}),
        _reading(BREAKERS, {name: float(name in open_) for name in [*names, *sorted(open_ - set(names))]}),
    )


async def last_seen(inbox: Inbox) -> Mapping[str, float]:
    """When the last delivery of each source was accepted, by any machine: what a process knows begins with itself."""
    found: dict[str, float] = {}
    for latest in await inbox.latest_rates():
        if latest.meter in (Meter.STORED, Meter.DUPLICATE):
            found[latest.source] = max(found.get(latest.source, 0.0), latest.at.timestamp())
    return found


def _reading(name: str, values: dict[str, float]) -> Reading:
    labels, says = READ_FROM_THE_INBOX[name]
    by_labels: dict[tuple[str, ...], float] = {(label,) if label else (): value for label, value in values.items()}
    return Reading(name, says, tuple(labels.split()), by_labels)
