"""`landfast doctor`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict

import click

from landfast.app import Inbox
from landfast.app.extras import check_extras
from landfast.app.journal_chain import examine_spool
from landfast.app.seal_checkup import examine_seal
from landfast.app.sources import NOT_BOTH, check_handlers, ignored_handlers
from landfast.app.sources_checkup import examine_sources
from landfast.cli import NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, run, without_app
from landfast.cli.output import safe, say, say_json
from landfast.domain.errors import ConfigError, LandfastError
from landfast.recovery.doctor import Check, Level, examine_binding, examine_inbox, examine_ledger, failed, is_well


@click.command()
@app_option
@json_option
def doctor(*, app: str | None, as_json: bool) -> int:
    """Look at the configuration, the secrets and both databases. Exit 1 when something must be put right."""
    checks = _examine(app)
    if as_json:
        say_json({"well": is_well(checks), "checks": [asdict(check) for check in checks]})
    else:
        say_checks(checks)
    return 0 if is_well(checks) else NEGATIVE


def say_checks(checks: Sequence[Check]) -> None:
    told = set()
    for check in checks:
        say(f"{check.level:<4}  {safe(check.name)}: {safe(check.found)}")
        if check.fix and check.fix not in told:  # one migration mends both databases
            say(f"      fix: {safe(check.fix)}")
        told.add(check.fix)


def _examine(app: str | None) -> Sequence[Check]:
    try:
        inbox = find_inbox(app)
    except LandfastError as error:
        return [failed("configuration", error)]
    try:
        check_extras(inbox.settings)
        check_handlers(inbox.registry, inbox.sources)
    except ConfigError as error:
        return [failed("configuration", ConfigError(f"{error}{without_app(app)}"))]
    known = f"store {inbox.settings.store}, ledger {inbox.settings.ledger}"
    sources = examine_sources(inbox.sources.values(), inbox.settings, now=inbox.clock.now().timestamp())
    ignored = [
        Check(f"handler {name}", Level.WARN, why, NOT_BOTH)
        for name, why in ignored_handlers(inbox.registry, inbox.sources)
    ]
    checks = [Check("configuration", Level.OK, known), *sources, *ignored, *examine_spool(inbox.settings)]
    stores = [*run(_attempted("inbox", _inbox, inbox)), *run(_attempted("ledger", _ledger, inbox))]
    checks += stores
    checks += [*run(_attempted("journal", _journal, inbox)), *run(_attempted("seen cache", _cache, inbox))]
    # Of two databases that are not well, nothing else can be said. What else is wrong says nothing about them.
    if not is_well(stores):
        return checks
    return [*checks, *run(_attempted("binding", _binding, inbox)), *run(_attempted("seal", _seal, inbox))]


async def _attempted(
    name: str, examine: Callable[[Inbox], Awaitable[Sequence[Check]]], inbox: Inbox
) -> Sequence[Check]:
    try:
        return await examine(inbox)
    except LandfastError as error:
        return [failed(name, error)]


async def _inbox(inbox: Inbox) -> Sequence[Check]:
    async with inbox.archive() as archive:
        return await examine_inbox(archive, now=inbox.clock.now())


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
