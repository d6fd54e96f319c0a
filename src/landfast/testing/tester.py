"""What the fixtures give to a test: the user's inbox with a sender, a worker and time in the test's hands.

Every call opens what it needs and closes it again: a deployment in which each process lives for one call. So nothing
has to be closed when a test ends, whichever loop it ran on; no connection outlives the loop that it belongs to; and
what a handler keeps in memory between two events is no more there than it would be after a restart.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from landfast.app import Inbox
from landfast.app.handler_parameters import asked_of_ledger, asked_of_ledger_by_step
from landfast.config import SourceSettings
from landfast.domain.errors import UserError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.testing import crash_places, redeliveries, requests, storms
from landfast.testing.calling import Calling
from landfast.testing.chosen_ledger import chosen_ledger, opened_file
from landfast.testing.crash_places import PlannedCrash
from landfast.testing.draining import Draining, Effects
from landfast.testing.reading import check_handled_once, effect_reports, event_reports
from landfast.testing.reports import NO_ANSWER, Delivered, EffectReport, EventReport, Failure, Redelivered, StormReport
from landfast.testing.requests import SignedRequest, take_in
from landfast.testing.sender_secrets import Pair
from landfast.testing.temporary import ShiftedClock, temporary, with_own_secrets
from landfast.testing.witness import Witness, raise_first


class InboxTester(Calling):
    """Your inbox under test: handlers, effects and sources are yours, the stores are temporary, and every source is
    signed with a test secret, so no environment is needed. The fixture `async_inbox` is one; `inbox` is the same for
    `def` tests, without `await`."""

    def __init__(self, inbox: Inbox, folder: Path, *, ledger: Any = None, lifespan: bool = False) -> None:
        self._clock = ShiftedClock()
        address = chosen_ledger(inbox.settings, ledger, folder)
        self._inbox, self._pairs = temporary(inbox, folder, self._clock, ledger=address)
        with_own_secrets(self._inbox, inbox.sources)
        for handler in inbox.registry.handlers:
            asked_of_ledger(handler.function, f"handler {handler.name}", self._inbox.settings.ledger_driver)
        for effect in inbox.registry.effects.values():
            asked_of_ledger_by_step(effect.function, f"effect {effect.name}", self._inbox.settings.ledger_driver)
        self._witness = Witness()
        self._inbox.registry = self._witness.registry(inbox.registry)
        self._inbox._lifespans = lifespans = inbox._lifespans if lifespan else []  # noqa: SLF001 - nobody else decides
        self._draining = Draining(self._inbox, self._witness, lifespans)
        self._crashes: list[PlannedCrash] = []
        self._unanswered: list[int] = []
        """In how many deliveries each intake dies that is to die before its answer."""
        self._has_delivered = False
        self._ledger: sqlite3.Connection | None = None

    @property
    def app(self) -> Inbox:
        """The copy of your inbox that the test runs."""
        return self._inbox

    @property
    def errors(self) -> Sequence[Failure]:
        """Every failed attempt so far, oldest first, also those that `drain` has raised."""
        return tuple(self._witness.failures)

    @property
    def now(self) -> datetime:
        """What time it is for Landfast, UTC."""
        return self._clock.now()

    @property
    def ledger(self) -> sqlite3.Connection:
        """The ledger's file, where your handlers write: create your tables and look at them here. Only where the
        ledger is SQLite."""
        if self._ledger is None:
            self._ledger = opened_file(self._inbox.settings.ledger)
        return self._ledger

    def request(
        self,
        source: str,
        type: str | None = None,  # noqa: A002 - the word that senders use
        *,
        id: str | None = None,  # noqa: A002 - same
        **data: Any,
    ) -> SignedRequest:
        """What `deliver` would deliver, for a test client of your own: post its `body` with its `headers` to its `path`
        below the place where you mount the inbox."""
        settings = requests.source_named(self._inbox.sources, source)
        event = id or requests.chosen_id(settings, type, data)
        return requests.signed(settings, self._pair(settings), now=self.now, type=type, id=event, fields=data)

    async def deliver(
        self,
        source: str,
        type: str | None = None,  # noqa: A002 - the word that senders use
        *,
        id: str | None = None,  # noqa: A002 - same
        **data: Any,
    ) -> Delivered:
        """Send the provider's sample of this type, signed as the provider signs, through the real intake. `data` are
        fields of the sample, by name (`amount=8999`) or by path (`data__object__amount=8999`). The same arguments are
        the same event, so a second call is a duplicate; `id` tells two apart. `source` may be a provider that only one
        source has."""
        return await self._send(self.request(source, type, id=id, **data))

    async def deliver_body(
        self,
        source: str,
        body: bytes | Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        sign: bool = False,
        type: str | None = None,  # noqa: A002 - the word that senders use
        id: str | None = None,  # noqa: A002 - same
    ) -> Delivered:
        """Send this body: signed, with `type` and `id` where the provider has them in headers. With `headers` it is
        sent exactly as it is, as something that you recorded, and counts if one of the source's own secrets signed it:
        `travel(to=...)` goes to the time of its signature. With `headers` and `sign=True` it is signed anew."""
        settings = requests.source_named(self._inbox.sources, source)
        if headers is not None and not sign:
            if not isinstance(body, bytes):
                raise UserError("deliver_body: with headers the body must be the bytes that were signed")
            return await self._send(requests.recorded(settings, body, headers))
        pair = self._pair(settings)
        request = requests.signed(settings, pair, now=self.now, body=body, type=type, id=id, headers=headers)
        return await self._send(request)

    async def redeliver(
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
        """Play a sender that is not heard, and sends again after its own schedule, which may take days of the test's
        time. At its first `down` attempts nobody is there, and nothing is stored; of the answers to the next ones
        `lost` do not reach it (all of them, unless it is given). Each attempt is signed anew, and between two of them
        the worker runs as it would, without raising. `delays` are seconds between the attempts, for a sender that does
        not publish them."""
        settings = requests.source_named(self._inbox.sources, source)
        event = id or requests.chosen_id(settings, type, data)
        return await redeliveries.play(
            settings,
            redeliveries.schedule(settings, delays),
            send=lambda: self.deliver(settings.name, type, id=event, **data),
            wait=lambda seconds: self.run_for(seconds=seconds),
            now=lambda: self.now,
            down=down,
            lost=lost,
        )

    async def drain(self, *, effects: Effects = False, raises: bool = True) -> None:
        """Process everything that is due now, and raise what a handler raised, with its traceback; the first of several
        with a note of the others. The event stays delayed or dead, as in production. `raises=False` leaves it at
        `errors`. Effects are staged and not performed, unless `effects` is true or names them."""
        __tracebackhide__ = True
        before = len(self.errors)
        async with self._draining.stores() as stores:
            await self._draining.drain(stores, effects=effects, crashes=self._crashes)
        if raises:
            raise_first(self.errors[before:])

    def crash_at(self, place: str, *, nth: int = 1) -> None:
        """Kill the worker when it comes to this place for the n-th time from now: `before handler`, `before commit`,
        `after commit`, `before settle`, `after settle`, `before effect`, `after effect`. Everything that it had in hand
        is lost, and `drain` goes on with another one, as after SIGKILL. `before answer` is intake's: the delivery is
        stored, and its sender hears nothing. A place that no worker comes to fails the test at its end."""
        if place == crash_places.BEFORE_ANSWER:
            self._unanswered.append(nth)
        else:
            self._crashes.append(crash_places.crash_at(place, nth=nth))

    def travel(
        self,
        *,
        seconds: float = 0.0,
        minutes: float = 0.0,
        hours: float = 0.0,
        days: float = 0.0,
        to: datetime | None = None,
    ) -> None:
        """Go to a later time at once; `drain` then runs what is due. `to` may also be earlier, before the first
        delivery."""
        ahead = timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days)
        if to is not None:
            ahead += (to if to.tzinfo else to.replace(tzinfo=UTC)) - self.now
        if ahead < timedelta() and self._has_delivered:
            raise UserError("travel: time goes back only before the first delivery; take another test for it")
        self._clock.offset += ahead

    async def run_for(
        self,
        *,
        seconds: float = 0.0,
        minutes: float = 0.0,
        hours: float = 0.0,
        days: float = 0.0,
        effects: Effects = False,
    ) -> Sequence[Failure]:
        """Let this much time pass as it would: whatever falls due on the way runs when it does. What failed on the way
        is returned, and not raised."""
        before = len(self.errors)
        end = self.now + timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days)
        async with self._draining.stores() as stores:
            while True:
                await self._draining.drain(stores, effects=effects, crashes=self._crashes)
                if self.now >= end:
                    break
                due = await self._draining.next_due(stores, effects)
                self.travel(to=min(end, max(due or end, self.now)))
        return self.errors[before:]

    async def storm(
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
        """Deliver each of so many events so many times, in any order and many at a time, while several workers run; of
        these, `crashes` die around their COMMIT. What a handler raised is raised when it is over. `seed` is for another
        order."""
        __tracebackhide__ = True
        before = len(self.errors)
        keys = [f"storm_{seed}_{number}" for number in range(events)]
        sent = storms.shuffled([self.request(source, type, id=key, **data) for key in keys], times=times, seed=seed)
        killed = storms.planned_crashes(crashes, events)
        self._has_delivered = True
        async with self._draining.stores(concurrency=workers) as stores, self._inbox.intake() as intake:
            answers = await storms.pour(
                intake, sent, workers=workers, drain=lambda: self._draining.drain(stores, crashes=killed)
            )
        await self.run_for(seconds=storms.LAST_LOOK_SECONDS)
        raise_first(self.errors[before:])
        return storms.report(answers, killed)

    async def events(
        self,
        *,
        source: str | None = None,
        type: str | None = None,  # noqa: A002 - the word that senders use
        key: str | None = None,
        state: str | None = None,
    ) -> Sequence[EventReport]:
        """Those that match, oldest first."""
        if state is not None and state not in list(State):
            raise UserError(f"events: there is no state {state!r}; it is one of {', '.join(State)}")
        wanted = Filter(source=source, type=type, key=key, state=State(state) if state else None)
        async with self._draining.stores() as stores:
            return await event_reports(stores, wanted)

    async def effects(self, name: str | None = None) -> Sequence[EffectReport]:
        """What handlers have staged and committed, or those of one name, oldest first."""
        async with self._draining.stores() as stores:
            return await effect_reports(stores, name)

    async def assert_handled_once(self, handler: str | None = None, *, key: str | None = None) -> None:
        """Fail unless every event that was delivered, or the one with this key, is done, and every handler that takes
        it, or this one, has handled it exactly once. Fails as well where there is no such event."""
        __tracebackhide__ = True
        async with self._draining.stores() as stores:
            await check_handled_once(stores, self._inbox.registry, handler, key)

    def close(self) -> None:
        """At the end of the test; AssertionError for a crash that was planned and not reached."""
        if self._ledger is not None:
            self._ledger.close()
        missed = [crash.place for crash in self._crashes if not crash.fired]
        missed += [crash_places.BEFORE_ANSWER] * len(self._unanswered)
        if missed:
            raise AssertionError(f"crash_at({missed[0]!r}): nothing came to this place, so nothing was tried there")

    def _pair(self, source: SourceSettings) -> Pair:
        if source.name not in self._pairs:
            raise UserError(f"deliver: source {source.name} was added during the test; declare it before")
        return self._pairs[source.name]

    async def _send(self, request: SignedRequest) -> Delivered:
        self._has_delivered = True
        async with self._inbox.intake() as intake:
            told = await take_in(intake, request)
        self._unanswered = [left - 1 for left in self._unanswered]
        if 0 in self._unanswered:
            self._unanswered.remove(0)
            return Delivered(NO_ANSWER, {})
        return told
