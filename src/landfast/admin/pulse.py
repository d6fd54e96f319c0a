"""What every open dashboard is told, as server-sent events: looked up once for all of them, every other second.

A page needs to hear no more than that it is time to look: it asks for `beats`, a few bytes each. What is going on is
looked up for programs that listen, and not while there are none. Where many listen, beats come less often. Whoever
reads too slowly is let go, and comes again by itself, as browsers do: better than a screen that is behind and does not
know it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from landfast.admin.desk import Desk
from landfast.admin.problems import AdminError, problem_of
from landfast.admin.questions.events import EventRow, rows_of
from landfast.admin.questions.overview import OverviewAsked, recent_overview
from landfast.domain.filter import Filter
from landfast.domain.summary import EventSummary
from landfast.statement_limit import statements_within

LOOK_SECONDS = 5.0
"""For one look: after that it is told that it failed."""

SUBSCRIBERS_AT_MOST = 256
"""Of one process: each holds a connection."""

STREAMS_OF_ONE = 64
"""Of one token, or one person: a team's screens have it, and nobody keeps the others from listening."""

BEHIND_AT_MOST = 8
"""Messages that somebody may be behind: some ten seconds."""

STREAM_SECONDS = 300.0
"""A stream's life. Whoever is still there comes again, by itself."""

NEW_AT_MOST = 50
"""New events told at a time: nobody reads more, and the page says that there are more."""


class TooManyListenersError(AdminError):
    """As many streams as one process holds are open already."""

    status, title = 503, "Too many dashboards"


@dataclass(frozen=True, slots=True)
class Listener:
    who: str
    only_beats: bool


class Beat(msgspec.Struct):
    seconds: float
    """Until the next one."""


class NewEvents(msgspec.Struct):
    events: list[EventRow]
    """Newest first."""
    is_more: bool
    """Whether more came than are told."""


class Pulse:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._listeners: dict[asyncio.Queue[bytes | None], Listener] = {}
        self._beating: asyncio.Task[None] | None = None
        self._newest: tuple[float, bytes] | None = None

    @asynccontextmanager
    async def listening(self, who: str = "", *, only_beats: bool = False) -> AsyncIterator[asyncio.Queue[bytes | None]]:
        """What comes from now on; None at the end."""
        if sum(each.who == who for each in self._listeners.values()) >= STREAMS_OF_ONE:
            raise TooManyListenersError(f"{who} has {STREAMS_OF_ONE} streams open; close some, or reload instead")
        if len(self._listeners) >= SUBSCRIBERS_AT_MOST:
            raise TooManyListenersError(f"{SUBSCRIBERS_AT_MOST} streams are open; close some, or reload instead")
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(BEHIND_AT_MOST)
        self._listeners[queue] = Listener(who, only_beats)
        self._desk.live.listeners = len(self._listeners)
        if self._beating is None or self._beating.done():
            self._beating = asyncio.create_task(self._beat())
        try:
            yield queue
        finally:
            self._forget(queue)

    async def close(self) -> None:
        for queue in [*self._listeners]:
            self._let_go(queue)
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)

    async def _beat(self) -> None:
        self._newest = None
        while self._listeners:
            message = b""
            if any(not each.only_beats for each in self._listeners.values()):
                message = await self._look()
            else:
                self._newest = None  # whoever comes after hours is not told of them as of news
            seconds = self._desk.live.beat_seconds
            beat = _message("beat", Beat(seconds))
            for queue, listener in [*self._listeners.items()]:
                if queue.full():
                    self._let_go(queue)
                else:
                    queue.put_nowait(beat if listener.only_beats else message)
            await self._desk.inbox.clock.sleep(seconds)

    def _forget(self, queue: asyncio.Queue[bytes | None]) -> None:
        self._listeners.pop(queue, None)
        self._desk.live.listeners = len(self._listeners)

    def _let_go(self, queue: asyncio.Queue[bytes | None]) -> None:
        self._forget(queue)
        while queue.full():
            queue.get_nowait()
        queue.put_nowait(None)

    async def _look(self) -> bytes:
        try:
            with statements_within(LOOK_SECONDS):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._desk.open()
                    now = await recent_overview(self._desk, OverviewAsked())
                    return _message("overview", now) + _message("events", await self._new_events())
        except Exception as error:  # noqa: BLE001 - whoever listens is told, and the next look may succeed
            return _message("problem", problem_of(error))

    async def _new_events(self) -> NewEvents:
        found = await self._desk.archive.find(Filter(), limit=NEW_AT_MOST)
        known, self._newest = self._newest, _place(found[0]) if found else self._newest
        new = [] if known is None else [event for event in found if _place(event) > known]
        return NewEvents(events=rows_of(self._desk, new), is_more=len(new) == NEW_AT_MOST)


def _place(event: EventSummary) -> tuple[float, bytes]:
    return event.received_at.timestamp(), event.event_id


def _message(name: str, value: msgspec.Struct) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(value))
