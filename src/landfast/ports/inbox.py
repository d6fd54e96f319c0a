"""The inbox: what came in. One port for each of those who use it, and `Inbox` for who passes the whole of it on.

All times are the database's own where it has a clock (PostgreSQL), the injected clock elsewhere (SQLite). Every
transition is one statement or one transaction that repeats its guard, and is a move of `domain.lifecycle`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Protocol

from landfast.domain.audit import Finished
from landfast.domain.census import Census, TallyReport
from landfast.domain.delivery import Delivery, Difference, Recorded
from landfast.domain.filter import Filter
from landfast.domain.flow import Flow, Look
from landfast.domain.ids import BootId, EventId, HandlerName, InboxId, Token, WorkerId
from landfast.domain.outcome import Claim, Settlement
from landfast.domain.summary import Cursor, EventRecord, EventSummary, HistoryLine
from landfast.domain.switch import Switch, SwitchKind
from landfast.domain.unhandled import UnhandledCount
from landfast.ports.alerts import Alerting
from landfast.ports.audit import Auditable
from landfast.ports.erasure import ErasableInbox
from landfast.ports.failures import Failures
from landfast.ports.jobs import JobBoard
from landfast.ports.journal import Journal
from landfast.ports.lanes import Lanes
from landfast.ports.operator_log import OperatorLog
from landfast.ports.rates import Rates
from landfast.ports.reconciliation import Reconciling
from landfast.ports.retention import RetainingInbox
from landfast.ports.room import RoomyInbox
from landfast.ports.sealed import KeyStore
from landfast.ports.store import Store
from landfast.ports.tokens import Tokens
from landfast.ports.turnstile import Turnstiles


class Recorder(Journal, Protocol):
    """Intake's view."""

    @property
    def boot(self) -> BootId:
        """Drawn when it was made: what is recorded through it is counted under this name, in the same COMMIT."""
        ...

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        """Make all of them durable in one COMMIT, then answer in the same order. The first delivery of an event is
        new and makes the event ready, or held where the delivery says so; any other, in this batch, earlier, or in a
        concurrent one, is not new.
        A proof counts for the first body that it comes with. A delivery with another body under it is not stored, and
        `is_disproven`, unless its event is known: then it is a duplicate like any other.
        Crash before the COMMIT: nothing was acknowledged. After it: the sender's retry is a duplicate.
        Raises RowRefusedError when the database refuses a row for what it holds, and InboxUnavailableError when it
        cannot be used or did not answer; either way nothing of the batch may be acknowledged."""
        ...

    async def record_drained(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        """As `record`, for what a spool or broker gives back: its senders were answered before. Each
        delivery is counted in the same COMMIT, once, also when its drainer died before it could let go of it."""
        ...

    async def tally(self, report: TallyReport) -> None:
        """Store the totals of this boot, and add up how often each event came again. A repeated report adds nothing
        to the totals."""
        ...


class Workbench(Protocol):
    """The workers' view."""

    async def claim(
        self, *, token: Token, lease: float, limit: int, flows: Sequence[Flow] | None = None
    ) -> Sequence[Claim]:
        """Lease up to `limit` ready events, oldest first, for `lease` seconds: of these flows as `flows` told them, or
        of all. Of all, delayed events that are due are woken first. Never returns a suspect or an expired claim. No
        event is leased twice at a time. Claiming changes no counter. An event whose body is missing is refused at
        once, `body_missing`, and not returned.
        An event that holds its lane `is_behind` where an earlier one holds it too and is not leased by this claim, or
        not returned. Of a lane of which the claim has the front, what is queued right after it is leased along, in the
        order of places, `limit` of all lanes at most, up to the first that is a suspect or waits for something else."""
        ...

    async def flows(self, *, is_thorough: bool = False) -> Look:
        """Every source and type that has a ready event, with the place of the oldest one. Where there are more than
        `FLOWS_AT_MOST`, so many or more come at a time, and each look goes on where the one before ended. Delayed
        events that are due are woken first. A million events of one flow make this no slower. An event that was
        released, or committed late, may be missing for a second. The search for new flows may be put off for as long
        where it is slow; a thorough look, by whoever found nothing to take, puts it off only where it is very slow."""
        ...

    async def claim_suspect(self, *, token: Token, lease: float) -> Claim | None:
        """Lease the oldest event whose lease has expired, or that was ever so and is ready again: it is a suspect from
        now on and must run alone. If it was a suspect already when its lease expired, its crashes grow by one."""
        ...

    async def claim_event(self, event: EventId, *, token: Token, lease: float, held_for: str) -> Claim | None:
        """Lease this very event for `lease` seconds, if it is ready, or if its lease has expired. One that is held for
        this reason is admitted first, an unhandled one requeued, each with its line of history, and nobody else can
        claim it in between. Otherwise None, and nothing changes. No counter changes, and of several who ask at the
        same time, one gets it."""
        ...

    async def has_suspects(self) -> bool:
        """Whether `claim_suspect` would find one."""
        ...

    async def renew(self, *, tokens: Sequence[Token], lease: float) -> None:
        """Extend the leases under these tokens that have not expired yet, and no others: what a worker does not know
        that it holds must run out."""
        ...

    async def settle(self, settlements: Sequence[Settlement]) -> Sequence[bool]:
        """Apply each; True where it took effect. FINISH and BURY match event and run, under any token or none; the
        other signals match event, run and token. What does not match, or is not legal from the current state, changes
        nothing. Each one that took effect adds one line of history. The suspect mark and the crash count
        survive RELEASE, POSTPONE, RETRY and QUEUE.
        An event that is passed holds its lane no longer, and neither does one that nobody handles, whatever is said of
        it. Where a settlement leaves a lane whose first queued event is held up by nothing, that is ready in the same
        COMMIT, and as old as it was."""
        ...

    async def abandon(self, *, worker: WorkerId) -> int:
        """Expire every lease of a worker that is known to be dead; how many there were."""
        ...

    async def unhandled(self) -> Sequence[UnhandledCount]:
        """How many events of each source and type are unhandled, where there are any, by source and type. Counted as
        they come and go, so that asking costs the same behind any number of them."""
        ...

    async def requeue(self, *, source: str, type: str, limit: int) -> int:  # noqa: A002 - the word that an event uses
        """Make unhandled events of this source and this very type ready again, newest first, the same run, at most
        `limit`; how many."""
        ...

    async def order(self, sources: Sequence[str]) -> None:
        """From now on, what these sources send holds its lane, where it names an entity; and so does what they have
        sent already and is ready, claimed, delayed or paused, in its first run. Again, it changes nothing."""
        ...

    async def resume(self, *, limit: int) -> int:
        """Make paused events ready whose switch is in force no longer, oldest first, at most `limit`; how many. The
        reason of a paused event names its switch, as `domain.switch` does: so a switch that is lifted while a worker
        pauses an event for it, or by one that dies right after, leaves nothing behind. Each adds one line of
        history."""
        ...

    async def stir(self, reasons: Sequence[str]) -> int:
        """Make every event ready that is parked for one of these reasons, oldest first; how many. Each adds one line of
        history. One that is parked after it is not found, however close."""
        ...


class Archive(Protocol):
    """The operators' view."""

    async def identity(self) -> InboxId: ...

    async def bound_ledger(self) -> str | None:
        """The name of the ledger that this inbox is bound to."""
        ...

    async def bind_ledger(self, ledger: str) -> str:
        """Bind to this ledger if to none yet; the ledger that it is bound to now."""
        ...

    async def census(self) -> Census:
        """Everything counted, in one short snapshot: from counters, however many events there are."""
        ...

    async def find(
        self, wanted: Filter, *, limit: int, after: Cursor | None = None, oldest_first: bool = False
    ) -> Sequence[EventSummary]:
        """Events that match, newest first or oldest first, strictly after the cursor. A message is found by its clear
        text, where it is sealed, too; nothing but the messages of what matches otherwise is opened for it."""
        ...

    async def count(self, wanted: Filter, *, at_most: int) -> int:
        """How many match, counting no further than `at_most`."""
        ...

    async def horizon(self, *, after: Cursor | None, events: int) -> datetime | None:
        """When the event arrived that is so many places behind the cursor, newest first, or behind the newest; None
        where there are not so many. It costs as much as those places, and no body is read."""
        ...

    async def show(self, event: EventId) -> EventRecord | None: ...

    async def lately(self, *, limit: int) -> Sequence[HistoryLine]:
        """The newest lines of history, newest first, without the messages and traces of their attempts. By their
        number, so that it costs the same behind any history."""
        ...

    async def expand(self, prefix: str) -> Sequence[EventId]:
        """The ids that begin with these hexadecimal digits, two at most: one is an answer, two are a question."""
        ...

    async def replay(
        self, events: Sequence[EventId], *, forced: bool, who: str, only: HandlerName | None = None
    ) -> int:
        """Start run + 1 for each that is done, dead or unhandled, with fresh tries and no suspicion; how many. The
        others change nothing. Each adds one line of history that says who. With `only`, the tries of the new run say
        that this handler runs alone, until the run ends."""
        ...

    async def recover(self, events: Sequence[EventId], *, who: str) -> int:
        """Make each done one ready again in the same run: its receipts were lost with the ledger's tail; how many."""
        ...

    async def admit(self, events: Sequence[EventId], *, who: str) -> int:
        """Make each held one ready; how many. Each adds one line of history that says who, and what it was held for. It
        holds its lane again, but not in a replay of what the lane has passed."""
        ...

    async def discard(self, events: Sequence[EventId], *, who: str) -> int:
        """Make each held one a dead letter, `discarded`; how many. Each adds one line of history, as `admit` does."""
        ...

    def walk_done(self, wanted: Filter, *, chunk: int) -> AsyncIterator[Sequence[Finished]]:
        """All done events that match, oldest first, in chunks, each with the handlers that made it so."""
        ...


class Memory(Protocol):
    """What caches and strict sources ask: what is here, and whether this is still the inbox that they knew."""

    async def epoch(self) -> bytes:
        """Four bytes that name this life of the inbox. A restored inbox has the epoch of its copy."""
        ...

    async def renew_epoch(self, old: bytes) -> bytes:
        """Draw a new epoch if the old one is still in force; the one that is in force now. Of several who renew the
        same one, all get the same answer."""
        ...

    async def mac_key(self) -> bytes:
        """32 random bytes, drawn once. What lies in a cache or a broker is believed only with a MAC under it."""
        ...

    async def known(self, events: Sequence[EventId]) -> frozenset[EventId]:
        """Those of them that are durable here."""
        ...

    async def recent(self, since: datetime, limit: int) -> Sequence[EventId]:
        """What was received since then, newest first, at most `limit`."""
        ...

    async def differing(self, deliveries: Sequence[Delivery]) -> Sequence[Difference | None]:
        """For each, in order: how it differs from the delivery that its event is stored by, in body or type. None where
        it does not, or nothing is stored."""
        ...


class Switchboard(Protocol):
    """What all workers agree on: what is switched off for now."""

    async def switches(self) -> Sequence[Switch]:
        """Those that are in force."""
        ...

    async def throw(
        self, kind: SwitchKind, name: str, *, why: str, who: str, lasting: float | None = None, at_once: bool = False
    ) -> None:
        """In force from now on, for so many seconds or until it is lifted. One that was thrown before is
        replaced; it is in force since that time, unless it ran out more than five minutes ago."""
        ...

    async def lift(self, kind: SwitchKind, name: str) -> bool:
        """In force no longer; whether it was there."""
        ...


class Inbox(
    Recorder,
    Workbench,
    Archive,
    Failures,
    Lanes,
    JobBoard,
    Auditable,
    Memory,
    Switchboard,
    Turnstiles,
    Rates,
    OperatorLog,
    Reconciling,
    Tokens,
    Alerting,
    ErasableInbox,
    RetainingInbox,
    RoomyInbox,
    KeyStore,
    Store,
    Protocol,
):
    """Every view of one inbox: what one driver object is."""
