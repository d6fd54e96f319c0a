"""Opening the two halves of the path: everything wired, and everything closed again in the opposite order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from landfast import telemetry
from landfast.app.alerts import watching_alerts
from landfast.app.answer_desk import answer_desk
from landfast.app.ballast import lay_ballast
from landfast.app.dead_hooks import telling_of_deaths
from landfast.app.disks import disks
from landfast.app.durability_watch import DurabilityWatch, watching
from landfast.app.extras import check_extras
from landfast.app.intake_reporting import intake_reporter
from landfast.app.journal_chain import JournalChain, check_spool, journal_chain
from landfast.app.late_inbox import open_late_inbox
from landfast.app.operator_watch import watching_operators
from landfast.app.paused_switches import paused_switches
from landfast.app.replay_jobs import carrying_out
from landfast.app.reporting import Reporter, reporting
from landfast.app.retention import retaining
from landfast.app.secret_watch import noting_secrets
from landfast.app.seen_cache import seen_cache
from landfast.app.sources import source_of
from landfast.app.stores import Stores, make_wakeup, open_stores, seal_of
from landfast.config import Settings, SourceSettings
from landfast.domain.ids import InboxId, WorkerId
from landfast.domain.retention import Retention
from landfast.intake.counting.tally import Tally
from landfast.intake.keys.key_folder import KeyFolder
from landfast.intake.keys.published_keys import KEPT_DOCUMENTS, PublishedKeys
from landfast.intake.policy.admission import Admission
from landfast.intake.receive import Intake
from landfast.intake.record import GroupCommit
from landfast.intake.source import Source
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.ports.seen import Seen
from landfast.ports.store import Store
from landfast.ports.wakeup import Wakeup
from landfast.processing.control.breakers import Breakers
from landfast.processing.handlers.registry import Registry
from landfast.processing.worker import Worker
from landfast.providers.catalogue import PROFILES
from landfast.recovery.erase import erase_again

LAST_REPORT_SECONDS = 1.0
"""Seconds for the last counts of a process that stops while the inbox is away."""


@asynccontextmanager
async def intake(
    settings: Settings, declared: Iterable[SourceSettings], clock: Clock, chance: Chance, *, hold: str = ""
) -> AsyncIterator[Intake]:
    """`hold`: why all of its events are held when they come in, if they are."""
    telemetry.redact(settings.redact)
    sources = [replace(source_of(source, settings), hold=hold) for source in declared]
    check_extras(settings)
    check_spool(settings)
    seal = seal_of(settings)
    async with (
        open_late_inbox(settings, clock, chance, seal) as (inbox, wakeup),
        seen_cache(settings, inbox, clock, chance) as seen,
        paused_switches(inbox, clock) as paused,
        _beside_intake(settings, inbox, sources, clock, chance),
        answer_desk(settings, sources, inbox, wakeup, clock, chance, seal) as desk,
    ):
        tally = Tally(
            inbox,
            boot=inbox.boot,
            clock=clock,
            sources=[source.name for source in sources],
            on_outage=lambda: _forget_all(seen, chain),
            meters=lambda: {**seen.meters(), **recorder.meters(), **chain.meters(), **intake.repeats.meters()},
        )
        async with journal_chain(settings, inbox, clock=clock, seen=seen, wakeup=wakeup, seal=seal) as chain:
            recorder = GroupCommit(chain.journal, seen=seen, wakeup=wakeup, has_neighbours=len(sources) > 1)
            intake = Intake(
                sources,
                recorder=recorder,
                seen=seen,
                tally=tally,
                clock=clock,
                keys=PublishedKeys(clock, folder=_key_folder(settings)),
                known=PROFILES.values,
                admission=_admission(settings, sources, clock, chance),
                ready=lambda: paused.added_to(chain.ready()),
                desk=desk,
            )
            reporter = intake_reporter(settings, inbox, intake, tally, chain, clock)
            tally.start()
            reporter.start()
            try:
                intake.fetch_keys()
                yield intake
            finally:
                await recorder.close()
                await chain.settle()
                await reporter.close()
                # The tally last: what the recorder still had in hand was counted when it was answered.
                await _last_word(tally, is_heard=not chain.is_outage())


def _forget_all(seen: Seen, chain: JournalChain) -> None:
    """While only duplicates come, nobody but the tally notices that the inbox was away, and may be an older one. What
    the spool has taken meanwhile stays known, or a storm would fill it."""
    if not chain.is_outage():
        seen.clear()


@asynccontextmanager
async def _beside_intake(
    settings: Settings, inbox: Inbox, sources: Sequence[Source], clock: Clock, chance: Chance
) -> AsyncIterator[None]:
    """What an intake process does besides taking in."""
    async with (
        noting_secrets(inbox, sources, clock, chance),
        watching_alerts(settings, inbox, clock, chance, is_standby=True),
    ):
        yield


def _admission(settings: Settings, sources: Sequence[Source], clock: Clock, chance: Chance) -> Admission:
    return Admission(
        sources,
        clock=clock,
        chance=chance,
        https_only=settings.https_only,
        trusted_proxies=settings.trusted_proxies,
    )


def _key_folder(settings: Settings) -> KeyFolder | None:
    """Beside what is on this machine anyway; nowhere for an inbox that is no file, without a spool."""
    if settings.spool is not None:
        return KeyFolder(settings.spool / "keys", most=KEPT_DOCUMENTS)
    return (
        KeyFolder(Path(f"{settings.store.target}-keys"), most=KEPT_DOCUMENTS) if settings.inbox_driver.is_file else None
    )


async def _last_word(tally: Tally, *, is_heard: bool) -> None:
    """An inbox that is away is not waited for: this boot then counts as one that crashed."""
    with suppress(TimeoutError):
        async with asyncio.timeout(None if is_heard else LAST_REPORT_SECONDS):
            await tally.close()


@asynccontextmanager
async def worker(
    settings: Settings,
    registry: Registry,
    lifespans: Sequence[Callable[[], AbstractAsyncContextManager[Any]]],
    worker_id: WorkerId,
    tell_suspects: Callable[[], None] | None,
    clock: Clock,
    chance: Chance,
    hung: Callable[[], None],
    retention: Retention,
) -> AsyncIterator[Worker]:
    telemetry.redact(settings.redact)
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_stores(settings, clock, chance, migrate=True))
        if again := await erase_again(stores.inbox, stores.ledger, stores.identity):
            fix = "run landfast erase --again, so that its files are clean, too"
            telemetry.warn("erased_again", count=again, fix=fix)
        wakeup = await stack.enter_async_context(_awake(settings, stores.identity))
        for lifespan in lifespans:
            await stack.enter_async_context(lifespan())
        worker = Worker(
            registry=registry,
            bench=stores.inbox,
            ledger=stores.ledger,
            effects=stores.ledger,
            wakeup=wakeup,
            clock=clock,
            chance=chance,
            inbox=stores.identity,
            worker=worker_id,
            hands=settings.concurrency,
            lease=settings.lease,
            tell_suspects=tell_suspects,
            hung=hung,
        )
        await stack.enter_async_context(watching_operators(stores, clock))
        both = [DurabilityWatch(name, each.hazards, clock) for name, each in _watched(stores)]
        judge = partial(_distrust, worker.breakers, both)
        await stack.enter_async_context(watching(*both, then=judge))
        await stack.enter_async_context(reporting(_worker_reporter(settings, stores.inbox, worker, clock)))
        lay = partial(lay_ballast, settings, stores.inbox)
        await stack.enter_async_context(retaining(stores, retention, clock, chance, lay))
        hooks = tuple(registry.dead_hooks.values())
        await stack.enter_async_context(telling_of_deaths(stores.inbox, hooks, clock, chance))
        await stack.enter_async_context(watching_alerts(settings, stores.inbox, clock, chance, is_standby=False))
        await stack.enter_async_context(carrying_out(stores.inbox, worker, clock, chance))
        yield worker


def _worker_reporter(settings: Settings, inbox: Inbox, worker: Worker, clock: Clock) -> Reporter:
    def doing() -> dict[str, Any]:
        return {**worker.doing(), "disks": disks(settings)}

    return Reporter(inbox, worker.meters, boot=inbox.boot, role="worker", clock=clock, doing=doing)


def _watched(stores: Stores) -> list[tuple[str, Store]]:
    return [("inbox", stores.inbox), ("ledger", stores.ledger)]


def _distrust(breakers: Breakers, watches: Sequence[DurabilityWatch]) -> None:
    breakers.distrust("; ".join(watch.unsafe for watch in watches if watch.unsafe))


@asynccontextmanager
async def _awake(settings: Settings, inbox: InboxId) -> AsyncIterator[Wakeup]:
    wakeup = make_wakeup(settings.store, inbox)
    await wakeup.open()
    try:
        yield wakeup
    finally:
        await wakeup.close()
