"""The two databases: made from their addresses, opened, brought up to date, bound to each other, closed."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from landfast.config import Address, Settings
from landfast.domain.errors import BoundElsewhereError, ConfigError, NoDatabaseError
from landfast.domain.ids import InboxId
from landfast.ports.audit import Audited
from landfast.ports.clock import Chance, Clock
from landfast.ports.erasure import ErasableLedger
from landfast.ports.inbox import Inbox
from landfast.ports.ledger import EffectStore, Ledger
from landfast.ports.sealed import KeyStore
from landfast.ports.store import Store
from landfast.ports.wakeup import Wakeup
from landfast.sealing import Seal, load_seal

INBOX_CONNECTIONS = 4
"""Connections of one process to a PostgreSQL inbox: one records, one claims and settles, one renews, one for people."""
LEDGER_SPARE_CONNECTIONS = 2
"""Connections to a PostgreSQL ledger besides one for each hand: tombstones and effects must not wait for handlers."""


class LedgerStore(Ledger, EffectStore, Audited, KeyStore, ErasableLedger, Store, Protocol):
    """Both views of one ledger, from one driver."""


@dataclass(frozen=True, slots=True)
class Stores:
    inbox: Inbox
    ledger: LedgerStore
    identity: InboxId


@asynccontextmanager
async def open_inbox(
    settings: Settings, clock: Clock, chance: Chance, *, migrate: bool, seal: Seal | None = None
) -> AsyncIterator[Inbox]:
    prepare("store", settings.store, migrate=migrate)
    seal = seal or seal_of(settings)
    inbox = make_inbox(settings.store, clock, chance, seal)
    async with _opened(inbox, migrate=migrate):
        if migrate:
            await check_seal("the inbox", inbox, seal)
        yield inbox


@asynccontextmanager
async def open_ledger(
    settings: Settings, clock: Clock, chance: Chance, *, migrate: bool, seal: Seal | None = None
) -> AsyncIterator[LedgerStore]:
    prepare("ledger", settings.ledger, migrate=migrate)
    seal = seal or seal_of(settings)
    ledger = make_ledger(settings.ledger, clock, chance, concurrency=settings.concurrency, seal=seal)
    async with _opened(ledger, migrate=migrate):
        if migrate:
            await check_seal("the ledger", ledger, seal)
        yield ledger


@asynccontextmanager
async def open_stores(settings: Settings, clock: Clock, chance: Chance, *, migrate: bool) -> AsyncIterator[Stores]:
    seal = seal_of(settings)
    async with (
        open_inbox(settings, clock, chance, migrate=migrate, seal=seal) as inbox,
        open_ledger(settings, clock, chance, migrate=migrate, seal=seal) as ledger,
    ):
        identity = await bind(inbox, ledger, settings)
        yield Stores(inbox, ledger, identity)


async def migrate_both(settings: Settings, clock: Clock, chance: Chance) -> Sequence[str]:
    """Bring both schemas up to date and bind them; what was applied, the inbox's first."""
    prepare("store", settings.store, migrate=True)
    prepare("ledger", settings.ledger, migrate=True)
    seal = seal_of(settings)
    inbox = make_inbox(settings.store, clock, chance, seal)
    ledger = make_ledger(settings.ledger, clock, chance, concurrency=1, seal=seal)
    async with _opened(inbox, migrate=False), _opened(ledger, migrate=False):
        applied = [f"inbox {name}" for name in await inbox.migrate()]
        applied += [f"ledger {name}" for name in await ledger.migrate()]
        await bind(inbox, ledger, settings)
    return applied


async def bind(inbox: Inbox, ledger: Ledger, settings: Settings) -> InboxId:
    """Tie the two together at the first start, and refuse any other ledger from then on: one without this inbox's
    receipts would run every open event a second time."""
    identity = await inbox.identity()
    # Crash between the two: the ledger has noted an inbox that is bound to none yet, and the next start repeats both.
    name = await ledger.bind(identity)
    bound = await inbox.bind_ledger(name)
    if bound != name:
        raise BoundElsewhereError(
            f"ledger: the inbox {settings.store} is bound to the ledger {bound}, but {settings.ledger} is {name};"
            " point ledger (LANDFAST_LEDGER) back to the one it was started with"
        )
    return identity


def seal_of(settings: Settings) -> Seal:
    """ConfigError where a master key is named and not there."""
    return load_seal(settings.seal, settings.seal_old, folder=settings.folder)


async def check_seal(name: str, store: KeyStore, seal: Seal) -> None:
    """Whoever takes in or processes must be able to open all that is there: with another master key, intake would go on
    in the belief that it could be."""
    if not (strangers := seal.strangers(await store.store_keys())):
        return
    named = " and ".join(strangers)
    if not seal.has_masters:
        raise ConfigError(f"seal: {name} is sealed, and seal is not set; set it to the master key {named}")
    raise ConfigError(
        f"seal: {name} was sealed under the master key {named}, which is another; correct seal, or name that one in"
        " seal_old"
    )


def make_inbox(address: Address, clock: Clock, chance: Chance, seal: Seal | None = None) -> Inbox:
    if address.is_sqlite:
        from landfast.inboxes.sqlite import SqliteInbox

        return SqliteInbox(address.target, clock=clock, chance=chance, seal=seal)
    from landfast.inboxes.postgres import PostgresInbox

    return PostgresInbox(address.target, clock=clock, chance=chance, pool=INBOX_CONNECTIONS, seal=seal)


def make_ledger(
    address: Address, clock: Clock, chance: Chance, *, concurrency: int, seal: Seal | None = None
) -> LedgerStore:
    if address.is_sqlite:
        from landfast.ledgers.sqlite import SqliteLedger

        return SqliteLedger(address.target, clock=clock, chance=chance, seal=seal)
    from landfast.ledgers.postgres import PostgresLedger

    named, pool = f"ledger ({address.origin})", concurrency + LEDGER_SPARE_CONNECTIONS
    return PostgresLedger(address.target, clock=clock, chance=chance, pool=pool, named=named, seal=seal)


def make_wakeup(address: Address, inbox: InboxId) -> Wakeup:
    if address.is_sqlite:
        from landfast.wakeups.datagram import DatagramWakeup

        return DatagramWakeup(inbox)
    from landfast.wakeups.notify import NotifyWakeup

    return NotifyWakeup(address.target)


@asynccontextmanager
async def _opened(store: Store, *, migrate: bool) -> AsyncIterator[None]:
    await store.open()
    try:
        if migrate:
            await store.migrate()
        yield
    finally:
        await store.close()


def prepare(name: str, address: Address, *, migrate: bool) -> None:
    file = Path(address.target)
    if not address.is_sqlite or file.exists():
        return
    if not file.parent.is_dir():
        raise ConfigError(
            f"{name} ({address.origin}): the folder {file.parent} does not exist; create it, or correct the path"
        )
    # A reader that made an empty database where none is would answer "nothing here" to a mistyped path.
    if not migrate:
        raise NoDatabaseError(f"there is no database {address} yet")
    # For its owner alone: it will hold what senders sent. Who may not create it is told so when it is opened.
    with suppress(OSError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
