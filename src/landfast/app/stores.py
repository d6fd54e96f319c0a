"""The two databases: made from their addresses, opened, brought up to date, bound to each other, closed."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from landfast.config import Address, Settings
from landfast.domain.errors import BoundElsewhereError, ConfigError, NoDatabaseError
from landfast.domain.ids import InboxId
from landfast.drivers import inbox_driver, ledger_driver
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.ports.ledger import Ledger, ReceiptStore
from landfast.ports.sealed import KeyStore
from landfast.ports.store import Store
from landfast.ports.wakeup import Wakeup
from landfast.sealing import Seal, load_seal


@dataclass(frozen=True, slots=True)
class Stores:
    inbox: Inbox
    ledger: Ledger
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
) -> AsyncIterator[Ledger]:
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


async def bind(inbox: Inbox, ledger: ReceiptStore, settings: Settings) -> InboxId:
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
    return inbox_driver(address.scheme).make(address.target, clock=clock, chance=chance, seal=seal)


def make_ledger(
    address: Address, clock: Clock, chance: Chance, *, concurrency: int, seal: Seal | None = None
) -> Ledger:
    make, named = ledger_driver(address.scheme, address.for_driver).make, f"ledger ({address.origin})"
    return make(address.for_driver, clock=clock, chance=chance, seal=seal, concurrency=concurrency, named=named)


def make_wakeup(address: Address, inbox: InboxId) -> Wakeup:
    return inbox_driver(address.scheme).wakeup(address.target, inbox)


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
    driver = inbox_driver(address.scheme) if name == "store" else ledger_driver(address.scheme, address.for_driver)
    file = Path(address.target)
    if not driver.is_file or file.exists():
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
