"""The spine: list, compare, take in. An event that never arrived is recorded under the key that its delivery would have
had, so that a late delivery is a duplicate.

It is done page by page, and how far it has come is noted after each. Crash before a page is noted: it is read again,
and what was taken from it is known by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from landfast.domain.body import moment
from landfast.domain.census import SourceTally, TallyReport
from landfast.domain.delivery import Delivery
from landfast.domain.errors import UserError
from landfast.domain.ids import EventId
from landfast.domain.reconciliation import Reconciliation
from landfast.intake.source import Source
from landfast.operations.reconcile.client import Client
from landfast.operations.reconcile.known import known_by_header
from landfast.operations.reconcile.pages import filled, first_url, is_readable, pages, value
from landfast.operations.reconcile.rebuild import NO_JSON, NotRebuilt, rebuild
from landfast.operations.reconcile.window import GRACE_SECONDS, OVERLAP, compared_by
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.providers import Profile
from landfast.providers.listing import Listing

LEASE_SECONDS = 1_200.0
"""Until a run that says nothing is taken for dead: longer than a provider may ask us to wait."""

NAMED_AT_MOST = 1_000
"""Missing events that a result names; how many there are is always told."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to compare, and how."""

    source: Source
    profile: Profile
    listing: Listing
    credential: str = field(repr=False)
    wants: Callable[[str], bool]
    """Whether a type is of any interest: a list holds all types, and an endpoint is sent those that it asked for."""
    since: datetime
    asked_at: datetime
    memory: timedelta
    """For how long an event is surely known again."""
    is_dry: bool = False
    grace: float = GRACE_SECONDS


@dataclass(frozen=True, slots=True)
class Missing:
    key: str
    type: str
    event_id: EventId | None
    occurred_at: datetime | None
    why_not: str = ""
    """Why it could not be taken in; empty where it was, or would be."""


@dataclass(slots=True)
class Result:
    since: datetime
    is_dry: bool = False
    listed: int = 0
    known: int = 0
    missing: int = 0
    taken: int = 0
    refused: int = 0
    """Missing, and not to be had under the key of their delivery."""
    left_out: Counter[str] = field(default_factory=Counter)
    """By reason: of another type, too old, too young."""
    named: list[Missing] = field(default_factory=list)
    new: list[EventId] = field(default_factory=list)
    resumed: bool = False

    def name(self, one: Missing) -> None:
        if len(self.named) < NAMED_AT_MOST:
            self.named.append(one)


Report = Callable[[Result], None]


async def reconcile(
    inbox: Inbox, asked: Asked, *, clock: Clock, chance: Chance, report: Report = lambda _: None
) -> Result | None:
    """None where another process is at it. UserError where the provider cannot be asked to the end; the next run goes
    on there."""
    run = _Run(inbox, asked, clock, chance, report)
    if asked.is_dry:
        return await run.all_pages(first_url(asked.listing, asked.since))
    source, token = asked.source.name, chance.bytes(8)
    begun = await inbox.begin_reconciliation(source, token=token, lease=LEASE_SECONDS, since=asked.since)
    if begun is None:
        return None
    run.go_on(begun, token)
    try:
        result = await run.all_pages(begun.place or first_url(asked.listing, begun.since))
    except BaseException as error:
        why = str(error) or type(error).__name__
        await inbox.end_reconciliation(source, token=token, error=why[:500], retry=GRACE_SECONDS)
        raise
    finally:
        await run.tell(ended=True)
    compared_until = compared_by(begun, now=asked.asked_at, memory=asked.memory)
    await inbox.end_reconciliation(source, token=token, compared_until=compared_until)
    return result


class _Run:
    def __init__(self, inbox: Inbox, asked: Asked, clock: Clock, chance: Chance, report: Report) -> None:
        self._inbox = inbox
        self._asked = asked
        self._clock = clock
        self._report = report
        self._seen: set[EventId | str] = set()
        self._arrived: frozenset[str] | None = None
        self._token = b""
        self._stored = self._duplicate = 0
        self._again: Counter[EventId] = Counter()
        self.result = Result(asked.since, asked.is_dry)
        name, _, template = asked.listing.header.partition(":")
        proof = {name.strip(): template.strip().replace("{credential}", asked.credential)}
        headers = {"accept": asked.listing.accept, **proof}
        self._client = Client(asked.source.name, asked.listing.url, headers, clock=clock, chance=chance)

    def go_on(self, begun: Reconciliation, token: bytes) -> None:
        self._token = token
        # What was interrupted long ago goes on, but not with what the inbox may have forgotten since.
        self.result.since = max(begun.since, self._asked.asked_at - self._asked.memory)
        self.result.resumed = begun.place is not None
        self.result.listed, self.result.missing, self.result.taken = begun.listed, begun.missing, begun.taken

    async def all_pages(self, start: str) -> Result:
        listing, result = self._asked.listing, self.result
        async for page in pages(self._client, listing, start):
            readable = [item for item in page.items if self._is_readable(item)]
            items = [item for item in readable if self._is_of_the_time(item)]
            result.listed += len(page.items)
            await (self._by_header(items) if listing.same_header and listing.detail else self._by_key(items))
            is_over = bool(readable) and not items and listing.newest_first and self._are_old(readable)
            if not self._asked.is_dry:
                await self._note(None if is_over else page.following)
            self._report(result)
            if is_over:
                break
        return result

    async def tell(self, *, ended: bool) -> None:
        """Each was received, and stored or a duplicate: so the proof counts it as any other. Crash between a COMMIT and
        this: they are stored, and the proof calls them untold."""
        if self._stored + self._duplicate:
            tally = SourceTally(self._stored + self._duplicate, self._stored, self._duplicate)
            told = {self._asked.source.name: tally}
            again, self._again = dict(self._again), Counter()
            await self._inbox.tally(TallyReport(self._inbox.boot, told, again, ended=ended))

    async def _by_key(self, items: Sequence[bytes]) -> None:
        """The key of each can be read from the list."""
        found = [(item, self._rebuilt(item, None)) for item in items]
        due = [each for _, made in found if not isinstance(made, NotRebuilt) for each in made if self._is_new(each)]
        known = await self._inbox.known([each.event_id for each in due])
        self.result.known += sum(each.event_id in known for each in due)
        for item, made in found:
            if isinstance(made, NotRebuilt):
                self._refuse(item, made)
        await self._take([each for each in due if each.event_id not in known])

    async def _by_header(self, items: Sequence[bytes]) -> None:
        """The key of each can be read from its detail only, which is asked for where no delivery had its header."""
        listing = self._asked.listing
        if self._arrived is None:
            since = self.result.since - OVERLAP
            self._arrived = await known_by_header(self._inbox, self._asked.source.name, listing.same_header, since)
        due: list[Delivery] = []
        for item in items:
            name = str(value(item, listing.same_as))
            if name in self._seen:
                continue  # the list names each attempt to deliver it
            self._seen.add(name)
            if name in self._arrived:
                self.result.known += 1
                continue
            detail = await self._client.get(filled(listing.detail, listing.options, item))
            made = self._rebuilt(item, detail.body)
            if isinstance(made, NotRebuilt):
                self._refuse(item, made)
            else:
                due += [each for each in made if self._is_new(each)]
        known = await self._inbox.known([each.event_id for each in due])
        self.result.known += sum(each.event_id in known for each in due)
        await self._take([each for each in due if each.event_id not in known])

    def _rebuilt(self, item: bytes, detail: bytes | None) -> Sequence[Delivery] | NotRebuilt:
        asked = self._asked
        return rebuild(asked.source, asked.profile, asked.listing, item, detail, self._clock.now())

    def _is_new(self, each: Delivery) -> bool:
        """Of a wanted type, and not on this list before: lists repeat themselves."""
        if each.event_id in self._seen:
            return False
        self._seen.add(each.event_id)
        if not self._asked.wants(each.type):
            self.result.left_out["of a type that no handler takes"] += 1
            return False
        return True

    def _is_readable(self, item: bytes) -> bool:
        """One that is not must not keep the others from being compared."""
        if is_readable(item):
            return True
        self.result.missing += 1
        self.result.refused += 1
        self.result.name(Missing("?", "", None, None, NO_JSON))
        return False

    def _refuse(self, item: bytes, made: NotRebuilt) -> None:
        listing = self._asked.listing
        name = str(value(item, listing.same_as or "id") or "?")
        self.result.missing += 1
        self.result.refused += 1
        at = moment(value(item, listing.time)) if listing.time else None
        self.result.name(Missing(name, "", None, at, made.why))

    async def _take(self, due: Sequence[Delivery]) -> None:
        if not due:
            return
        if not self._asked.is_dry:
            for each, row in zip(due, await self._inbox.record(due), strict=True):
                if row.is_new:
                    self._stored += 1
                    self.result.taken += 1
                    self.result.new.append(each.event_id)
                else:  # it has arrived since we looked
                    self._duplicate += 1
                    self._again[each.event_id] += 1
            await self.tell(ended=False)
        self.result.missing += len(due)
        for each in due:
            self.result.name(Missing(each.key, each.type, each.event_id, each.occurred_at))

    async def _note(self, place: str | None) -> None:
        result = self.result
        counts = {"listed": result.listed, "missing": result.missing, "taken": result.taken}
        told = {"token": self._token, "lease": LEASE_SECONDS, "place": place}
        if not await self._inbox.note_reconciliation(self._asked.source.name, **told, **counts):  # type: ignore[arg-type]
            raise UserError(f"reconcile {self._asked.source.name}: another process has taken over; let it finish")

    def _is_of_the_time(self, item: bytes) -> bool:
        at = self._time_of(item)
        if at is None:
            return True
        if at < self.result.since:
            self.result.left_out["older than asked for"] += 1
            return False
        if (self._clock.now() - at).total_seconds() < self._asked.grace:
            self.result.left_out["so young that they may be on their way"] += 1
            return False
        return True

    def _are_old(self, items: Sequence[bytes]) -> bool:
        return all((at := self._time_of(item)) is not None and at < self.result.since for item in items)

    def _time_of(self, item: bytes) -> datetime | None:
        return moment(value(item, self._asked.listing.time)) if self._asked.listing.time else None
