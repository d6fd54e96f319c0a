"""Which driver an address means: its scheme says so, as in `sqlite:shop.db` or `postgresql://host/shop`.

Landfast's own drivers are in the two tables at the end, and are imported when one is made. Another package brings its
own by an entry point of the group `landfast.inboxes` or `landfast.ledgers`, which is called like the scheme and leads
to an `InboxDriver` or a `LedgerDriver`: see docs/howto/write-a-driver.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol, TypeVar

from landfast.domain.errors import ConfigError

if TYPE_CHECKING:  # whoever only reads the settings has no use for the ports
    from landfast.domain.ids import InboxId
    from landfast.ports.clock import Chance, Clock
    from landfast.ports.inbox import Inbox
    from landfast.ports.ledger import Ledger
    from landfast.ports.wakeup import Wakeup
    from landfast.sealing import Seal

INBOXES = "landfast.inboxes"
LEDGERS = "landfast.ledgers"
"""Under these groups of entry points another package names its drivers."""

INBOX_CONNECTIONS = 4
"""Connections of one process to a PostgreSQL inbox: one records, one claims and settles, one renews, one for people."""
LEDGER_SPARE_CONNECTIONS = 2
"""Connections to a PostgreSQL ledger besides one for each hand: tombstones and effects must not wait for handlers."""


class MakesInbox(Protocol):
    def __call__(self, target: str, *, clock: Clock, chance: Chance, seal: Seal | None) -> Inbox: ...


class MakesLedger(Protocol):
    def __call__(
        self, target: str, *, clock: Clock, chance: Chance, seal: Seal | None, concurrency: int, named: str
    ) -> Ledger:
        """At most `concurrency` handlers have a transaction open at the same time. `named` is the setting that the
        address is from, for a sentence about what is wrong with it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """What the rest of Landfast asks of a driver before anything is opened. What stands behind the scheme of an address
    is the driver's own affair: it gets the whole of it, unless it is a file."""

    title: str
    """For sentences, such as SQLite."""
    is_file: bool = False
    """An address is the path of a file, relative to where it is written. Whoever may migrate creates it, and others of
    Landfast lie beside it."""
    is_url: bool = False
    """An address has `//` behind its scheme."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxDriver(Driver):
    make: MakesInbox
    wakeup: Callable[[str, InboxId], Wakeup]
    """How a worker hears of an event that another process recorded."""
    kept_by: str = "every ack committed"
    """What an acknowledgement says, for the banner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerDriver(Driver):
    make: MakesLedger
    has_one_writer: bool = False
    """At most one handler at a time: one worker process with a concurrency of 1, and none of its own for suspects."""

    def check_number(self, key: str, number: int) -> None:
        """ConfigError where `concurrency` or `workers` is more than one writer bears."""
        if self.has_one_writer and number > 1:
            raise ConfigError(
                f"{key} is {number}, but a {self.title} ledger has one writer; set it to 1, or use PostgreSQL"
            )


D = TypeVar("D", bound=Driver)


def inbox_driver(scheme: str) -> InboxDriver:
    """ConfigError where nobody brings it."""
    return _found(scheme, _INBOXES, INBOXES, InboxDriver)


def ledger_driver(scheme: str) -> LedgerDriver:
    """ConfigError where nobody brings it."""
    return _found(scheme, _LEDGERS, LEDGERS, LedgerDriver)


def _found(scheme: str, own: Mapping[str, D], group: str, kind: type[D]) -> D:
    driver = own.get(scheme) or _brought(scheme, group)
    if driver is None:
        known = ", ".join(sorted({*own, *_names(group)}))
        # Of the address only the scheme is repeated: the rest may hold a password.
        raise ConfigError(f"{scheme!r} is no kind of database that is installed; the known ones are {known}")
    if not isinstance(driver, kind):
        raise ConfigError(f"the entry point {scheme!r} of {group} must be a landfast.drivers.{kind.__name__}")
    return driver


@cache
def _brought(scheme: str, group: str) -> object | None:
    """What another package calls so, whatever it is."""
    from importlib.metadata import entry_points

    for point in entry_points(group=group, name=scheme):
        try:
            loaded: object = point.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"the entry point {scheme!r} of {group} cannot be loaded: {error}") from None
        return loaded
    return None


def _names(group: str) -> Sequence[str]:
    from importlib.metadata import entry_points

    return [point.name for point in entry_points(group=group)]


def _sqlite_inbox(target: str, *, clock: Clock, chance: Chance, seal: Seal | None) -> Inbox:
    from landfast.inboxes.sqlite import SqliteInbox

    return SqliteInbox(target, clock=clock, chance=chance, seal=seal)


def _postgres_inbox(target: str, *, clock: Clock, chance: Chance, seal: Seal | None) -> Inbox:
    from landfast.inboxes.postgres import PostgresInbox

    return PostgresInbox(target, clock=clock, chance=chance, pool=INBOX_CONNECTIONS, seal=seal)


def _sqlite_wakeup(_target: str, inbox: InboxId) -> Wakeup:
    from landfast.wakeups.datagram import DatagramWakeup

    return DatagramWakeup(inbox)


def _postgres_wakeup(target: str, _inbox: InboxId) -> Wakeup:
    from landfast.wakeups.notify import NotifyWakeup

    return NotifyWakeup(target)


def _sqlite_ledger(
    target: str,
    *,
    clock: Clock,
    chance: Chance,
    seal: Seal | None,
    concurrency: int,  # noqa: ARG001 - it has one
    named: str,  # noqa: ARG001 - what is wrong with a path is told when it is opened
) -> Ledger:
    from landfast.ledgers.sqlite import SqliteLedger

    return SqliteLedger(target, clock=clock, chance=chance, seal=seal)


def _postgres_ledger(
    target: str, *, clock: Clock, chance: Chance, seal: Seal | None, concurrency: int, named: str
) -> Ledger:
    from landfast.ledgers.postgres import PostgresLedger

    pool = concurrency + LEDGER_SPARE_CONNECTIONS
    return PostgresLedger(target, clock=clock, chance=chance, pool=pool, named=named, seal=seal)


_INBOXES: Mapping[str, InboxDriver] = {
    "sqlite": InboxDriver(
        title="SQLite", is_file=True, make=_sqlite_inbox, wakeup=_sqlite_wakeup, kept_by="every ack fsynced"
    ),
    "postgresql": InboxDriver(title="PostgreSQL", is_url=True, make=_postgres_inbox, wakeup=_postgres_wakeup),
}
_LEDGERS: Mapping[str, LedgerDriver] = {
    "sqlite": LedgerDriver(title="SQLite", is_file=True, make=_sqlite_ledger, has_one_writer=True),
    "postgresql": LedgerDriver(title="PostgreSQL", is_url=True, make=_postgres_ledger),
}
