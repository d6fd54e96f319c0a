"""Everything that `landfast doctor` looks at, of an application that could be loaded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from landfast.app.alerts_checkup import examine_alerts
from landfast.app.extras import check_extras
from landfast.app.flow_checkup import examine_running
from landfast.app.forwards_checkup import examine_targets
from landfast.app.inbox import Inbox
from landfast.app.journal_chain import examine_spool
from landfast.app.oidc_checkup import examine_sign_in
from landfast.app.seal_checkup import examine_seal
from landfast.app.sources import NOT_BOTH, ignored_handlers
from landfast.app.sources_checkup import examine_sources
from landfast.domain.errors import ConfigError, LandfastError
from landfast.recovery.doctor import Check, Level, examine_binding, examine_inbox, examine_ledger, failed, is_well


async def examine(inbox: Inbox, *, hint: str = "") -> Sequence[Check]:
    """`hint` is added to what is wrong with the declarations. Each database is opened once for all that is asked of it:
    to open one takes some 50 ms, and seven checks begin with it."""
    async with inbox.kept_open() as kept:
        return await _examine(kept, hint)


async def _examine(inbox: Inbox, hint: str) -> Sequence[Check]:
    try:
        check_extras(inbox.settings)
        inbox.check_declared()
    except ConfigError as error:
        return [failed("configuration", ConfigError(f"{error}{hint}"))]
    known = f"store {inbox.settings.store}, ledger {inbox.settings.ledger}"
    sources = examine_sources(inbox.sources.values(), inbox.settings, now=inbox.clock.now().timestamp())
    ignored = [
        Check(f"handler {name}", Level.WARN, why, NOT_BOTH)
        for name, why in ignored_handlers(inbox.registry, inbox.sources)
    ]
    targets = await examine_targets(inbox.forwards.values())
    checks = [Check("configuration", Level.OK, known), *sources, *targets, *ignored, *examine_spool(inbox.settings)]
    checks += examine_sign_in(inbox.settings)
    stores = [*await _attempted("inbox", _inbox, inbox), *await _attempted("ledger", _ledger, inbox)]
    unusable = {check.name for check in stores if check.level is Level.FAIL}
    running = partial(examine_running, has_inbox="inbox" not in unusable, has_ledger="ledger" not in unusable)
    checks += [*stores, *await _attempted("flow", running, inbox)]
    checks += [*await _attempted("journal", _journal, inbox), *await _attempted("seen cache", _cache, inbox)]
    # Of two databases that are not well, nothing else can be said. What else is wrong says nothing about them.
    if not is_well(stores):
        return checks
    checks += await _attempted("alerts", examine_alerts, inbox)
    return [*checks, *await _attempted("binding", _binding, inbox), *await _attempted("seal", _seal, inbox)]


async def _attempted(
    name: str, examine: Callable[[Inbox], Awaitable[Sequence[Check]]], inbox: Inbox
) -> Sequence[Check]:
    try:
        return await examine(inbox)
    except LandfastError as error:
        return [failed(name, error)]


async def _inbox(inbox: Inbox) -> Sequence[Check]:
    async with inbox.archive() as archive:
        meant = frozenset(handler.name for handler in inbox.registry.handlers if not handler.writes)
        return await examine_inbox(archive, now=inbox.clock.now(), meant=meant)


async def _ledger(inbox: Inbox) -> Sequence[Check]:
    async with inbox.ledger() as ledger:
        return await examine_ledger(ledger)


async def _journal(inbox: Inbox) -> Sequence[Check]:
    if inbox.settings.journal is None:
        return []
    from landfast.app.broker import examine_journal  # late: the broker's library takes its time

    return await examine_journal(inbox.settings)


async def _cache(inbox: Inbox) -> Sequence[Check]:
    if inbox.settings.redis is None:
        return []
    from landfast.app.cache_checkup import examine_cache  # late: the client is an extra

    return await examine_cache(inbox.settings.redis)


async def _seal(inbox: Inbox) -> Sequence[Check]:
    async with inbox.archive() as archive, inbox.ledger() as ledger:
        return await examine_seal(inbox.settings, archive, ledger)


async def _binding(inbox: Inbox) -> Sequence[Check]:
    async with inbox.archive() as archive, inbox.ledger() as ledger:
        return [await examine_binding(archive, ledger)]
