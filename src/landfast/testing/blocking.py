"""`InboxTester` for `def` tests: the same calls, and nothing is awaited.

They run on one event loop for the whole session, in the test's own thread, which stands still between two calls. One
loop, because what users make at import, such as an async engine, keeps connections from test to test, and those belong
to a loop. The test's own thread, because there `breakpoint()` in a handler works, and Ctrl-C ends a handler that hangs.
Only Django needs that thread itself: its connections, and the transaction of its TestCase, belong to it. So there the
loop is in another thread, and this one does the database's work meanwhile.

An `async def` test has a loop already, and its handlers must run on that, where its clients and engines are. So it asks
for `async_inbox` and awaits, as it would ask for an async client.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar

from landfast.app import Inbox
from landfast.domain.errors import LandfastError, UserError
from landfast.testing import django_database
from landfast.testing.draining import Effects
from landfast.testing.reports import Called, Delivered, EffectReport, EventReport, Failure, Redelivered, StormReport
from landfast.testing.requests import SignedRequest
from landfast.testing.tester import InboxTester

T = TypeVar("T")

_MACHINERY = frozenset({"landfast", "asyncio", "asgiref", "concurrent"})
"""Packages whose frames say nothing to the author of a handler."""


class BlockingInboxTester:
    """Your inbox under test, for `def` tests: as `InboxTester`, and nothing is awaited."""

    def __init__(self, tester: InboxTester, runner: asyncio.Runner) -> None:
        self._tester = tester
        self._runner = runner

    @property
    def app(self) -> Inbox:
        """The copy of your inbox that the test runs."""
        return self._tester.app

    @property
    def errors(self) -> Sequence[Failure]:
        """Every failed attempt so far, oldest first, also those that `drain` has raised."""
        return self._tester.errors

    @property
    def now(self) -> datetime:
        """What time it is for Landfast, UTC."""
        return self._tester.now

    @property
    def ledger(self) -> sqlite3.Connection:
        """The ledger's file, where your handlers write: create your tables and look at them here. Only where the
        ledger is SQLite."""
        return self._tester.ledger

    def request(
        self,
        source: str,
        type: str | None = None,  # noqa: A002 - the word that senders use
        *,
        id: str | None = None,  # noqa: A002 - same
        **data: Any,
    ) -> SignedRequest:
        """As `InboxTester.request`."""
        return self._tester.request(source, type, id=id, **data)

    def deliver(
        self,
        source: str,
        type: str | None = None,  # noqa: A002 - the word that senders use
        *,
        id: str | None = None,  # noqa: A002 - same
        **data: Any,
    ) -> Delivered:
        """As `InboxTester.deliver`."""
        __tracebackhide__ = True
        return self._wait(self._tester.deliver(source, type, id=id, **data))

    def deliver_body(
        self,
        source: str,
        body: bytes | Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        sign: bool = False,
        type: str | None = None,  # noqa: A002 - the word that senders use
        id: str | None = None,  # noqa: A002 - same
    ) -> Delivered:
        """As `InboxTester.deliver_body`."""
        __tracebackhide__ = True
        return self._wait(self._tester.deliver_body(source, body, headers=headers, sign=sign, type=type, id=id))

    def call(self, endpoint: str, body: Any = None, *, key: str, raises: bool = True) -> Called:
        """As `InboxTester.call`."""
        __tracebackhide__ = True
        return self._wait(self._tester.call(endpoint, body, key=key, raises=raises))

    def redeliver(
        self,
        source: str,
        type: str | None = None,  # noqa: A002 - the word that senders use
        *,
        down: int = 0,
        lost: float = math.inf,
        delays: Sequence[float] | None = None,
        id: str | None = None,  # noqa: A002 - same
        **data: Any,
    ) -> Redelivered:
        """As `InboxTester.redeliver`."""
        __tracebackhide__ = True
        return self._wait(self._tester.redeliver(source, type, down=down, lost=lost, delays=delays, id=id, **data))

    def drain(self, *, effects: Effects = False, raises: bool = True) -> None:
        """As `InboxTester.drain`."""
        __tracebackhide__ = True
        self._wait(self._tester.drain(effects=effects, raises=raises))

    def crash_at(self, place: str, *, nth: int = 1) -> None:
        """As `InboxTester.crash_at`."""
        self._tester.crash_at(place, nth=nth)

    def travel(
        self,
        *,
        seconds: float = 0.0,
        minutes: float = 0.0,
        hours: float = 0.0,
        days: float = 0.0,
        to: datetime | None = None,
    ) -> None:
        """As `InboxTester.travel`."""
        self._tester.travel(seconds=seconds, minutes=minutes, hours=hours, days=days, to=to)

    def run_for(
        self,
        *,
        seconds: float = 0.0,
        minutes: float = 0.0,
        hours: float = 0.0,
        days: float = 0.0,
        effects: Effects = False,
    ) -> Sequence[Failure]:
        """As `InboxTester.run_for`."""
        __tracebackhide__ = True
        return self._wait(
            self._tester.run_for(seconds=seconds, minutes=minutes, hours=hours, days=days, effects=effects)
        )

    def storm(
        self,
        source: str,
        type: str | None = None,  # noqa: A002 - the word that senders use
        *,
        times: int = 100,
        events: int = 1,
        workers: int = 4,
        crashes: int = 0,
        seed: int = 0,
        **data: Any,
    ) -> StormReport:
        """As `InboxTester.storm`. On a test database of Django's there is one worker, because there is one
        connection."""
        __tracebackhide__ = True
        workers = 1 if self._is_on_django else workers
        return self._wait(
            self._tester.storm(
                source, type, times=times, events=events, workers=workers, crashes=crashes, seed=seed, **data
            )
        )

    def events(
        self,
        *,
        source: str | None = None,
        type: str | None = None,  # noqa: A002 - the word that senders use
        key: str | None = None,
        state: str | None = None,
    ) -> Sequence[EventReport]:
        """As `InboxTester.events`."""
        __tracebackhide__ = True
        return self._wait(self._tester.events(source=source, type=type, key=key, state=state))

    def effects(self, name: str | None = None) -> Sequence[EffectReport]:
        """As `InboxTester.effects`."""
        __tracebackhide__ = True
        return self._wait(self._tester.effects(name))

    def assert_handled_once(self, handler: str | None = None, *, key: str | None = None) -> None:
        """As `InboxTester.assert_handled_once`."""
        __tracebackhide__ = True
        self._wait(self._tester.assert_handled_once(handler, key=key))

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        __tracebackhide__ = True
        if self._is_on_django:
            return django_database.run_inline(self._tester.app.settings.ledger.target, call)
        return self._runner.run(call)

    @property
    def _is_on_django(self) -> bool:
        return self._tester.app.settings.ledger.scheme == django_database.SCHEME

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        __tracebackhide__ = True
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            call.close()
            raise UserError("inbox: this test has an event loop already; ask for async_inbox, and await its calls")
        try:
            return self._run(call)
        except BaseException as error:  # noqa: BLE001 - it is raised again, as it is
            raise error.with_traceback(_frames_of_interest(error)) from error.__cause__


def _frames_of_interest(error: BaseException) -> TracebackType | None:
    """From the user's own code on. A sentence of ours needs none."""
    frame = error.__traceback__
    while frame is not None and str(frame.tb_frame.f_globals.get("__name__")).partition(".")[0] in _MACHINERY:
        frame = frame.tb_next
    is_told = isinstance(error, LandfastError | AssertionError)
    return frame if frame is not None or is_told else error.__traceback__
