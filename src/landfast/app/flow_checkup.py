"""The doctor's look at what runs: flow, writes, disks, the intakes themselves, and what production asks for."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from landfast.app.disks import disks
from landfast.app.inbox import Inbox
from landfast.app.production_checkup import examine_production
from landfast.app.ready_asked import ask_ready
from landfast.config import Settings
from landfast.operations.doctor.disk import Growth, examine_disks, growth, try_inbox, try_ledger
from landfast.operations.doctor.flow import examine_flow
from landfast.operations.doctor.readiness import examine_readiness
from landfast.operations.doctor.reconciling import examine_reconciling
from landfast.operations.status import Status, status
from landfast.ports import inbox as ports
from landfast.recovery.doctor import Check


async def examine_running(inbox: Inbox, *, has_inbox: bool = True, has_ledger: bool = True) -> Sequence[Check]:
    """Of a database that cannot be used, which others have said, nothing is asked again."""
    checks: list[Check] = []
    if has_inbox:
        async with inbox.archive() as archive:
            checks += await _inbox(inbox, archive)
    else:
        checks += examine_disks(disks(inbox.settings))  # a full one may be why
    if has_ledger:
        async with inbox.ledger() as ledger:
            checks.append(await try_ledger(ledger, inbox.chance))
    return checks


async def _inbox(inbox: Inbox, archive: ports.Inbox) -> list[Check]:
    now = inbox.clock.now()
    handlers = [handler.name for handler in inbox.registry.handlers]
    seen = await status(archive, now=now, sources=inbox.sources, handlers=handlers)
    declared = list(inbox.sources.values())
    every = {source.name: source.reconcile for source in declared if source.reconcile is not None}
    return [
        await try_inbox(archive, inbox.chance, now),
        *examine_disks(_disks(inbox.settings, seen), grows=await _growth(inbox, archive)),
        *examine_flow(seen, sources=inbox.sources),
        *(examine_reconciling(every, await archive.reconciliations(), now) if every else ()),
        *await examine_readiness(seen.processes, ask_ready, host=socket.gethostname()),
        *examine_production(inbox.settings, declared, inbox.registry, seen.processes, now.timestamp()),
    ]


def _disks(settings: Settings, seen: Status) -> list[dict[str, Any]]:
    """Those of this machine as they are now, and those of others as they told."""
    here = disks(settings)
    host = socket.gethostname()
    told = [
        {**disk, "host": one.host} for one in seen.processes if one.host != host for disk in one.doing.get("disks", ())
    ]
    once = {(disk["host"], disk["path"], disk["what"]): disk for disk in told}
    return [*here, *once.values()]


async def _growth(inbox: Inbox, archive: ports.Inbox) -> Growth | None:
    """Of an inbox that is a file; None for a server, whose disk is not ours to look at."""
    if not inbox.settings.inbox_driver.is_file:
        return None
    return await growth(archive, inbox.clock.now(), inbox.retention)
