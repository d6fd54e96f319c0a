"""The journal on a broker, as the settings name it: opened for intakes, for drainers, and for the doctor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from landfast.app.disks import disks
from landfast.app.durability_watch import DurabilityWatch, WatchedJournal, watching
from landfast.app.reporting import Reporter, reporting
from landfast.app.seen_cache import seen_cache
from landfast.app.stores import make_wakeup, open_inbox, seal_of
from landfast.config import Settings
from landfast.domain.errors import ConfigError, JournalUnavailableError
from landfast.domain.metering import Meters
from landfast.intake.counting.tally import Tally
from landfast.intake.durability.drain import Drainer
from landfast.intake.durability.outage import Outage
from landfast.intake.durability.remembering import RememberingJournal
from landfast.intake.durability.strict import StrictJournal
from landfast.journals.jetstream import JetStreamJournal
from landfast.journals.jetstream_address import BrokerAddress, read_address
from landfast.journals.jetstream_backlog import JetStreamBacklog
from landfast.journals.jetstream_link import Link
from landfast.journals.jetstream_stream import FOREIGN, Found, look, problems
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.ports.journal import Journal
from landfast.ports.seen import Seen
from landfast.ports.wakeup import Wakeup
from landfast.recovery.doctor import Check, Level
from landfast.sealing import Seal
from landfast.telemetry import metrics

LARGE_BACKLOG_MESSAGES = 10_000
"""Messages that wait: at a few thousand a second, some seconds of work. More for long means too few drainers."""


@asynccontextmanager
async def open_journal(
    settings: Settings, inbox: Inbox, *, otherwise: Journal, seal: Seal
) -> AsyncIterator[JetStreamJournal]:
    """ConfigError when its stream cannot be trusted. While the broker is away, what is recorded is refused as
    unavailable: the caller has a spool, or answers 503."""
    identity, mac_key = await inbox.identity(), await inbox.mac_key()
    journal = JetStreamJournal(_target(settings), inbox=identity, mac_key=mac_key, otherwise=otherwise, seal=seal)
    try:
        await journal.open()
        yield journal
    finally:
        await journal.close()


@asynccontextmanager
async def open_backlog(settings: Settings, inbox: Inbox, chance: Chance, seal: Seal) -> AsyncIterator[JetStreamBacklog]:
    """Each begins somewhere else, so that several share the work."""
    start = chance.bytes(1)[0]
    identity, mac_key = await inbox.identity(), await inbox.mac_key()
    backlog = JetStreamBacklog(_target(settings), inbox=identity, mac_key=mac_key, start=start, seal=seal)
    try:
        await backlog.open()
        yield backlog
    finally:
        await backlog.close()


class Draining:
    """One drainer, with a boot of its own to count under: what it brings was acknowledged by others."""

    def __init__(
        self,
        backlog: JetStreamBacklog,
        inbox: Inbox,
        *,
        watch: DurabilityWatch,
        seen: Seen,
        wakeup: Wakeup,
        clock: Clock,
    ) -> None:
        self._backlog = backlog
        self._wakeup = wakeup
        self._drained = 0
        self._stopping = asyncio.Event()
        self._tally = Tally(inbox, boot=inbox.boot, clock=clock, meters=self.meters)
        self._drainer = Drainer(
            backlog,
            RememberingJournal(WatchedJournal(StrictJournal(inbox, clock=clock, drains=True), watch), seen),
            clock=clock,
            outage=Outage(clock, where="inbox or journal", waiting=lambda: backlog.waiting),
            drained=self._count,
            hurries=True,
        )

    def meters(self) -> Mapping[str, int]:
        return {
            "journal_backlog": self._backlog.waiting,
            "journal_redelivered": self._backlog.redelivered,
            "journal_foreign": self._backlog.foreign,
            "journal_drained": self._drained,
        }

    async def run(self) -> None:
        """Until `stop`; a batch that is in hand then is finished, so that nothing of it has to be taken twice."""
        self._tally.start()
        try:
            while not self._stopping.is_set():
                seconds = await self._drainer.step()
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._stopping.wait()
        finally:
            await self._tally.close()

    def stop(self) -> None:
        self._stopping.set()

    def _count(self, new: int) -> None:
        self._drained += new
        if new:
            self._wakeup.nudge()


@asynccontextmanager
async def open_drainer(settings: Settings, clock: Clock, chance: Chance) -> AsyncIterator[Draining]:
    """What brings the journal into the inbox; `await draining.run()` inside it."""
    read_address(_target(settings))  # before anything is opened: a mistake in it must change nothing
    seal = seal_of(settings)
    async with (
        open_inbox(settings, clock, chance, migrate=True, seal=seal) as inbox,
        open_backlog(settings, inbox, chance, seal) as backlog,
        seen_cache(settings, inbox, clock, chance) as seen,
        watching(DurabilityWatch("inbox", inbox.hazards, clock)) as (watch,),
    ):
        wakeup = make_wakeup(settings.store, await inbox.identity())
        await wakeup.open()
        reporter = _reporter(settings, inbox, backlog, clock)
        try:
            with metrics.refreshed_by(lambda: metrics.JOURNAL.set(backlog.waiting)):
                async with reporting(reporter):
                    yield Draining(backlog, inbox, watch=watch, seen=seen, wakeup=wakeup, clock=clock)
        finally:
            await wakeup.close()


def _reporter(settings: Settings, inbox: Inbox, backlog: JetStreamBacklog, clock: Clock) -> Reporter:
    def doing() -> Mapping[str, Any]:
        return {"journal_backlog": backlog.waiting, "disks": disks(settings)}

    return Reporter(inbox, Meters(), boot=inbox.boot, role="drainer", clock=clock, doing=doing)


async def examine_journal(settings: Settings) -> Sequence[Check]:
    """Nothing where there is no journal. It changes nothing: a stream that is missing is not made."""
    if settings.journal is None:
        return []
    link = Link(read_address(settings.journal.target), role="doctor")
    try:
        await link.open()
        found = await look(link)
    except JournalUnavailableError as error:
        return [Check("journal", Level.FAIL, str(error), "start the broker, or correct journal")]
    finally:
        await link.close()
    if found is None:
        fix = "start landfast serve, which makes it; if it was deleted, what it held and was not drained is lost"
        return [Check("journal", Level.FAIL, f"there is no stream {link.address.stream}", fix)]
    wrong = list(problems(found.config, link.address))
    checks = [Check("journal", Level.FAIL, sentence) for sentence in wrong]
    if not wrong:
        replicas = found.config.get("num_replicas", 1)
        kept = f"{replicas} replicas" if replicas > 1 else "synced before it acknowledges, as the address says"
        checks.append(Check("journal", Level.OK, f"reachable, stream {link.address.stream} on file, {kept}"))
    fix = "see that drainers run and keep up: landfast serve, or landfast drain"
    level = Level.WARN if found.backlog >= LARGE_BACKLOG_MESSAGES else Level.OK
    checks.append(Check("journal backlog", level, f"{found.backlog:,} messages", fix if level is Level.WARN else ""))
    if found.aside:
        subject = link.address.subject("aside")
        fix = f"the inbox refuses them; their bytes are kept in the stream under {subject}"
        checks.append(Check("journal set aside", Level.WARN, f"{found.aside:,} messages", fix))
    return [*checks, *_of_trust(found, link.address)]


def _of_trust(found: Found, address: BrokerAddress) -> Iterator[Check]:
    if found.foreign:
        subject = address.subject(FOREIGN)
        fix = f"somebody else can publish to the broker: give it a password, look at {subject}, then purge it"
        yield Check(
            "journal foreign", Level.FAIL, f"{found.foreign:,} messages that no intake of this inbox wrote", fix
        )
    if address.takes_foreign:
        fix = "once every intake is upgraded, take foreign=take out of the address"
        yield Check("journal", Level.WARN, "messages without a MAC are believed, whoever published them", fix)


def _target(settings: Settings) -> str:
    if settings.journal is None:
        raise ConfigError('journal is not set, and there is nothing to drain; write journal = "nats://127.0.0.1:4222"')
    return settings.journal.target
