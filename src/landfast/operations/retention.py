"""Retention: a pass removes what is old enough, in both databases.

First the audit: an event leaves only once its receipts were proven, and so an event without them stays for people to
look at. Then the inbox, step by step. Last the ledger, whose receipts outlive everything that can ask for them. A pass
that is stopped or killed anywhere has done a part of it, and the next one goes on.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from landfast.domain.errors import StoreError, TurnLostError
from landfast.domain.expiry import Expired, LedgerAges
from landfast.domain.ids import InboxId
from landfast.domain.lifecycle import State
from landfast.domain.operator_log import Action
from landfast.domain.retention import Count, Counts, Retention, Step
from landfast.operations.ledger_retention import expire_ledger, is_due
from landfast.operations.operator_log import audited
from landfast.operations.pace import Pace
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.ports.ledger import Ledger
from landfast.recovery.audit import audit

TURN_SECONDS = 600.0
"""After which a pass that says nothing any more is taken for dead. It is taken again every minute."""

RENEW_SECONDS = 60.0

SILENT = (
    "the ledger keeps its receipts, because the inbox {0} writes there, too, and has not said for a month which of them"
    " it needs; run landfast retention run there, or landfast retention unbind {0} if it is gone for good"
)


@dataclass(frozen=True, slots=True)
class Pass:
    """What a pass has done so far."""

    looked_at: int = 0
    counts: Counts = field(default_factory=dict)
    bytes_freed: int = 0
    held_back: int = 0
    receipts: int = 0
    effects: int = 0
    last: str = ""
    """What it did last, in words."""
    left: tuple[str, ...] = ()
    """What it could not do now, in words."""
    is_complete: bool = False
    unproven: int = 0
    """Done events that the audit found without their receipts. They, and what became done after them, stay."""

    @property
    def total(self) -> Count:
        return sum(self.counts.values(), Count())


Report = Callable[[Pass], None]


async def _nothing() -> None:
    pass


async def preview(inbox: Inbox, retention: Retention) -> Counts:
    """What a pass would remove from the inbox now; nothing is changed. What was not proven yet is taken for proven."""
    return await inbox.expiring(retention, proven=await inbox.newest_line())


async def run_pass(
    inbox: Inbox,
    ledger: Ledger,
    retention: Retention,
    *,
    identity: InboxId,
    clock: Clock,
    chance: Chance,
    every: float = 0.0,
    share: float = 1.0,
    seconds: float = math.inf,
    who: str = "",
    is_urgent: bool = False,
    before_ledger: Callable[[], Awaitable[None]] = _nothing,
    report: Report = lambda _: None,
) -> Pass | None:
    """None where another pass is under way, or the last one ended less than `every` seconds ago. It begins with this
    `share` of the time, and works on the inbox no longer than `seconds`. What is urgent takes the turn from another
    pass, and removes what is not proven, too. Once the inbox is done, and before the ledger is walked through,
    `before_ledger` is awaited. Cancel it to stop it: it stops between two steps, or undoes the one that it is in. Where
    an operator asks for it, `who` is named in the operator log."""
    holder, until = chance.bytes(8), clock.monotonic() + seconds
    if not await inbox.take_retention_turn(holder, every=every, lasting=TURN_SECONDS, is_urgent=is_urgent):
        return None
    pace = Pace(clock, share)
    work = _Work(
        inbox, ledger, retention, identity, clock, chance, holder, pace, report, until, is_urgent, before_ledger
    )
    holding = asyncio.create_task(_hold(inbox, holder))
    try:
        if who:
            async with audited(inbox, Action.RETENTION, who=who) as log:
                await work.run()
                log.counted(work.done.total.events)
        else:
            await work.run()
    finally:
        holding.cancel()
        await inbox.end_retention_turn(holder, is_complete=work.done.is_complete)
    return work.done


@dataclass(slots=True)
class _Work:
    inbox: Inbox
    ledger: Ledger
    retention: Retention
    identity: InboxId
    clock: Clock
    chance: Chance
    holder: bytes
    pace: Pace
    report: Report
    until: float
    is_urgent: bool
    before_ledger: Callable[[], Awaitable[None]]
    done: Pass = field(default_factory=Pass)

    async def run(self) -> None:
        proven = await self._proven()
        while self.clock.monotonic() < self.until:
            try:
                step = await self.inbox.retain(self.retention, holder=self.holder, proven=proven)
            except TurnLostError as error:
                # It is not complete: whoever has the turn, or takes it next, goes on with the same step.
                self.done = replace(self.done, left=(*self.done.left, str(error)))
                return
            if step is None:
                await self.before_ledger()
                await self._forget_receipts()
                self.done = replace(self.done, is_complete=True)
                return
            self._add(step)
            await self.pace.rest()

    async def _proven(self) -> int:
        """Up to which line of history. What is urgent does not wait for a proof: a full disk lets nothing more in."""
        if self.is_urgent:
            return await self.inbox.newest_line()
        proof = await audit(self.inbox, self.ledger, identity=self.identity, chance=self.chance)
        self.done = replace(self.done, unproven=proof.lacking)
        return proof.proven

    async def _forget_receipts(self) -> None:
        """Once a day: it is a walk through all of the ledger, so it is not cut short, either."""
        now, older_than = self.clock.now(), self.retention.receipts
        if not await is_due(self.ledger, identity=self.identity, older_than=older_than, now=now):
            return
        found = await expire_ledger(
            self.inbox,
            self.ledger,
            identity=self.identity,
            ages=LedgerAges(receipts=older_than, dead_effects=max(ages.dead for ages in self.retention.all)),
            now=now,
            rest=self.pace.rest,
            report=self._tell_ledger,
        )
        others = [SILENT.format(other.hex()) for other in found.silent]
        self.done = replace(self.done, receipts=found.receipts, effects=found.effects, left=(*self.done.left, *others))
        self.report(self.done)

    def _tell_ledger(self, so_far: Expired) -> None:
        self.done = replace(
            self.done, receipts=so_far.receipts, effects=so_far.effects, last="looking through the ledger"
        )
        self.report(self.done)

    def _add(self, step: Step) -> None:
        counts: dict[tuple[str, State], Count] = dict(self.done.counts)
        for named, count in step.counts.items():
            counts[named] = counts.get(named, Count()) + count
        self.done = replace(
            self.done,
            looked_at=self.done.looked_at + step.looked_at,
            counts=counts,
            bytes_freed=self.done.bytes_freed + step.bytes_freed,
            held_back=self.done.held_back + step.held_back,
            last=step.what,
            left=(*self.done.left, step.what) if step.is_left else self.done.left,
        )
        self.report(self.done)


async def _hold(inbox: Inbox, holder: bytes) -> None:
    """Keep the turn for as long as the pass lives: to prove or walk through a large ledger may take an hour. Who has
    lost it all the same hears of it at the next step."""
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        with suppress(StoreError):
            await inbox.take_retention_turn(holder, every=0, lasting=TURN_SECONDS)
