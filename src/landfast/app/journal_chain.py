"""Where deliveries become durable, as the settings say: the inbox, a broker before it, a spool behind it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from landfast.app.durability_watch import DurabilityWatch, WatchedJournal, watching
from landfast.app.late_inbox import open_late_journal
from landfast.config import Settings
from landfast.domain.ids import BootId
from landfast.domain.readiness import Readiness
from landfast.intake.durability.drain import Drainer
from landfast.intake.durability.fallback import Alone, Fallback, Where
from landfast.intake.durability.outage import Outage
from landfast.intake.durability.remembering import RememberingJournal
from landfast.intake.durability.strict import StrictJournal
from landfast.journals.folder import set_aside_in, waiting_in
from landfast.journals.mounts import FORGETFUL, file_system_of
from landfast.journals.spool import Spool, check_keeps
from landfast.ports.clock import Clock
from landfast.ports.inbox import Inbox
from landfast.ports.journal import Journal
from landfast.ports.seen import Seen
from landfast.ports.wakeup import Wakeup
from landfast.recovery.doctor import Check, Level
from landfast.sealing import Seal
from landfast.telemetry import metrics

NAMED_EVENTS = 10
"""Events that the doctor names of those that are set aside: enough to start looking."""


async def _nothing() -> None: ...


@dataclass(frozen=True, slots=True)
class JournalChain:
    """A journal, and what there is to know of it."""

    journal: Journal
    where: Callable[[], Where]
    """Where the next delivery would become durable, in a word."""
    name: Where = "inbox"
    """Where it does when all is well."""
    has_spool: bool = False
    meters: Callable[[], Mapping[str, int]] = dict
    settle: Callable[[], Awaitable[None]] = _nothing
    """Stop draining, before the last counts are reported."""
    unsafe: Callable[[], str] = str
    """Why what is recorded first cannot be relied on; empty while it can."""

    def is_outage(self) -> bool:
        """Whether the spool stands in, or should."""
        return self.where() != self.name

    def ready(self) -> Readiness:
        where, unsafe = self.where(), self.unsafe()
        layers: dict[str, str] = {self.name: "ok" if where == self.name else "away"}
        if unsafe:
            layers[self.name] = f"unsafe: {unsafe}"
            if where == self.name:  # nothing has come since that would have found out
                where = "spool" if self.has_spool else "nothing"
        if self.has_spool:
            layers["spool"] = {"spool": "used", "nothing": "failing"}.get(where, "ok")
        return Readiness(is_ready=where != "nothing", layers=layers)


def check_spool(settings: Settings) -> None:
    """ConfigError where it would forget, before anything is opened or made."""
    if settings.spool is not None and not settings.spool_anywhere:
        check_keeps(settings.spool)


@asynccontextmanager
async def journal_chain(
    settings: Settings, inbox: Inbox, *, clock: Clock, seen: Seen, wakeup: Wakeup, seal: Seal
) -> AsyncIterator[JournalChain]:
    async with AsyncExitStack() as stack:
        watch = DurabilityWatch("inbox", inbox.hazards, clock)
        await stack.enter_async_context(watching(watch))
        direct = WatchedJournal(StrictJournal(inbox, clock=clock), watch)
        first: Journal = direct
        name: Where = "inbox"
        if settings.journal is not None:
            from landfast.app.broker import open_journal

            opening = partial(open_journal, settings, inbox, otherwise=direct, seal=seal)
            late = await stack.enter_async_context(open_late_journal(opening, clock))
            watch = DurabilityWatch("journal", late.hazards, clock)
            await stack.enter_async_context(watching(watch))
            first, name = WatchedJournal(late, watch), "journal"
        if settings.spool is None:
            alone = Alone(first, clock=clock, name=name)
            yield JournalChain(alone, lambda: alone.where, name, unsafe=lambda: watch.unsafe)
            return
        spool = await stack.enter_async_context(_spool(settings, settings.spool, inbox.boot, clock, seal))
        # By whoever has it, because the inbox may be what is away.
        stack.enter_context(metrics.refreshed_by(lambda: metrics.SPOOL.set(spool.waiting)))
        # It may come back as an older self: what it has forgotten must not be a duplicate.
        outage = Outage(
            clock, where=name, then="the spool takes over", on_begin=seen.clear, waiting=lambda: spool.waiting
        )
        fallback = Fallback(first, spool, outage=outage, clock=clock, name=name)
        stack.push_async_callback(fallback.close)
        # Into the broker where there is one, and out of it again by its own drainers.
        target = first
        if settings.journal is None:
            target = WatchedJournal(StrictJournal(inbox, clock=clock, drains=True), watch)
        absorbed: Counter[str] = Counter()
        counts = partial(_count_absorbed, absorbed, has_journal=settings.journal is not None)
        told = partial(_nudge, wakeup)
        remembering = RememberingJournal(target, seen)
        drainer = Drainer(spool, remembering, clock=clock, outage=outage, absorbed=counts, drained=told)
        stack.push_async_callback(drainer.close)
        drainer.start()
        yield JournalChain(
            fallback,
            lambda: fallback.where,
            name,
            has_spool=True,
            meters=lambda: {**spool.meters(), **absorbed},
            settle=drainer.close,
            unsafe=lambda: watch.unsafe,
        )


def _count_absorbed(absorbed: Counter[str], count: int, *, has_journal: bool) -> None:
    absorbed.update(spool_absorbed=count if has_journal else 0)


def _nudge(wakeup: Wakeup, drained: int) -> None:
    if drained:
        wakeup.nudge()


@asynccontextmanager
async def _spool(settings: Settings, path: Path, boot: BootId, clock: Clock, seal: Seal) -> AsyncIterator[Spool]:
    anywhere, limit = settings.spool_anywhere, settings.spool_limit
    spool = Spool(path, boot=boot, clock=clock, limit=limit, anywhere=anywhere, seal=seal)
    await spool.open()
    try:
        yield spool
    finally:
        await spool.close()


def examine_spool(settings: Settings) -> list[Check]:
    """Nothing where there is no spool. It changes nothing: a folder that is missing is not made."""
    if settings.spool is None:
        return []
    kind = file_system_of(settings.spool) or "an unknown file system"
    if kind in FORGETFUL:
        found = f"{settings.spool} is on {kind}: what is acknowledged there goes with the machine or container"
        level = Level.WARN if settings.spool_anywhere else Level.FAIL
        return [Check("spool", level, found, "set spool to a folder on a disk or volume")]
    if problem := _unusable(settings.spool):
        return [
            Check("spool", Level.FAIL, f"{settings.spool} {problem}", "set spool to a folder that can be written to")
        ]
    segments, bad = waiting_in(settings.spool)
    checks = [Check("spool", Level.OK, f"{settings.spool} on {kind}, nothing waits")]
    if segments:
        found = f"records wait in {settings.spool}, in {segments} {'file' if segments == 1 else 'files'}"
        fix = "they are drained when the inbox is back; see that an intake runs here, and in its log why they stay"
        checks = [Check("spool", Level.WARN, found, fix)]
    if bad:
        fix = f"see the log for why; a file {settings.spool}/*.bad that is renamed to .seg is tried again"
        named = ", ".join(set_aside_in(settings.spool)[:NAMED_EVENTS])
        checks.append(Check("spool", Level.WARN, f"{bad} records are set aside: {named}", fix))
    return checks


def _unusable(path: Path) -> str:
    if path.exists() and not path.is_dir():
        return "is a file, and must be a folder"
    # The nearest folder above that is there: what is missing is made at the first start.
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    return "" if os.access(there, os.W_OK | os.X_OK) else "cannot be written to"
