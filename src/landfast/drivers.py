"""Which driver an address means: its scheme says so, as in `sqlite:shop.db` or `postgresql://host/shop`.

Landfast's own drivers are in the two tables at the end, and are imported when one is made. Another package brings its
own by an entry point of the group `landfast.inboxes` or `landfast.ledgers`, which is called like the scheme and leads
to an `InboxDriver` or a `LedgerDriver`: see docs/howto/write-a-driver.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

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
        self, target: Any, *, clock: Clock, chance: Chance, seal: Seal | None, concurrency: int, named: str
    ) -> Ledger:
        """`target` is the address, or what the user gave in its place, such as an engine. At most `concurrency`
        handlers have a transaction open at the same time. `named` is the setting that it is from, for a sentence about
        what is wrong with it."""
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
    offers: Mapping[str, str] = field(default_factory=dict)
    """Which types handlers may ask for, by module and name, and the kind that the ledger's Scope knows each by."""
    runs: frozenset[str] = frozenset({"async", "sync"})
    """Which handlers can use its transaction: `async def`, `def` or both."""

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


def ledger_driver(scheme: str, given: object = None) -> LedgerDriver:
    """ConfigError where nobody brings it. `given` is what stands in the address's place, such as an engine, or the
    address of a scheme whose driver depends on it."""
    if scheme in _LEDGERS_OF_STACKS and (scheme in _STACKS_WITH_ADDRESSES or not isinstance(given, str)):
        return _LEDGERS_OF_STACKS[scheme](given)
    return _found(scheme, _LEDGERS, LEDGERS, LedgerDriver)


def scheme_of(given: object) -> str | None:
    """Of an object of the user's that can be a ledger, by its class: nothing is imported to tell."""
    names = (f"{base.__module__}.{base.__qualname__}" for base in type(given).__mro__)
    return next((_SCHEMES_OF_CLASSES[name] for name in names if name in _SCHEMES_OF_CLASSES), None)


def _found(scheme: str, own: Mapping[str, D], group: str, kind: type[D]) -> D:
    driver = own.get(scheme) or _brought(scheme, group)
    if driver is None:
        known = ", ".join(sorted({*own, *_names(group), "django", *(["mysql"] if group == LEDGERS else [])}))
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


def _postgres_wakeup(target: str, inbox: InboxId) -> Wakeup:
    from landfast.wakeups.notify import NotifyWakeup

    return NotifyWakeup(target, inbox)


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


def _sqlalchemy(given: object) -> LedgerDriver:
    from landfast.ledgers.sqlalchemy.driver import driver_of

    return LedgerDriver(**driver_of(given))


def _mysql(given: object) -> LedgerDriver:
    from landfast.ledgers.sqlalchemy.mysql_address import driver_of

    return LedgerDriver(**driver_of(str(given)))


def _psycopg(given: object) -> LedgerDriver:
    is_async = any(base.__name__ == "AsyncConnectionPool" for base in type(given).__mro__)
    return LedgerDriver(
        title=f"psycopg {'AsyncConnectionPool' if is_async else 'ConnectionPool'}",
        make=_psycopg_ledger,
        offers={f"psycopg.{'AsyncConnection' if is_async else 'Connection'}": "connection"},
        runs=frozenset({"async" if is_async else "sync"}),
    )


def _psycopg_ledger(
    target: Any,
    *,
    clock: Clock,
    chance: Chance,
    seal: Seal | None,
    concurrency: int,  # noqa: ARG001 - the user's pool has its own size
    named: str,
) -> Ledger:
    from landfast.ledgers.psycopg import AsyncPsycopgLedger, BlockingPsycopgLedger

    kind = AsyncPsycopgLedger if "async" in _psycopg(target).runs else BlockingPsycopgLedger
    return kind(target, clock=clock, chance=chance, named=named, seal=seal)


def _django_inbox(target: str, *, clock: Clock, chance: Chance, seal: Seal | None) -> Inbox:
    scheme, address = _where_django_is(target)
    return inbox_driver(scheme).make(address, clock=clock, chance=chance, seal=seal)


def _django_wakeup(target: str, inbox: InboxId) -> Wakeup:
    scheme, address = _where_django_is(target)
    return inbox_driver(scheme).wakeup(address, inbox)


def _where_django_is(target: str) -> tuple[str, str]:
    from landfast.ledgers.django import databases

    return databases.inbox_address(target)


def _django_ledger_driver(given: object) -> LedgerDriver:
    from landfast.ledgers.django.driver import driver_of

    return LedgerDriver(**driver_of(str(given)))


_INBOXES: Mapping[str, InboxDriver] = {
    "sqlite": InboxDriver(
        title="SQLite", is_file=True, make=_sqlite_inbox, wakeup=_sqlite_wakeup, kept_by="every ack fsynced"
    ),
    "postgresql": InboxDriver(title="PostgreSQL", is_url=True, make=_postgres_inbox, wakeup=_postgres_wakeup),
    "django": InboxDriver(title="Django", make=_django_inbox, wakeup=_django_wakeup),
}
_LEDGERS: Mapping[str, LedgerDriver] = {
    "sqlite": LedgerDriver(
        title="SQLite",
        is_file=True,
        make=_sqlite_ledger,
        has_one_writer=True,
        offers={"sqlite3.Connection": "connection"},
    ),
    "postgresql": LedgerDriver(
        title="PostgreSQL",
        is_url=True,
        make=_postgres_ledger,
        offers={"asyncpg.connection.Connection": "connection", "asyncpg.pool.PoolConnectionProxy": "connection"},
    ),
}
_LEDGERS_OF_STACKS: Mapping[str, Callable[[object], LedgerDriver]] = {
    "django": _django_ledger_driver,
    "mysql": _mysql,
    "psycopg": _psycopg,
    "sqlalchemy": _sqlalchemy,
}
"""Those that depend on what is given: an engine, a pool, or the name of a database of Django's."""
_STACKS_WITH_ADDRESSES = ("django", "mysql")
_SCHEMES_OF_CLASSES: Mapping[str, str] = {
    "sqlalchemy.engine.base.Engine": "sqlalchemy",
    "sqlalchemy.ext.asyncio.engine.AsyncEngine": "sqlalchemy",
    "sqlalchemy.orm.session.sessionmaker": "sqlalchemy",
    "sqlalchemy.ext.asyncio.session.async_sessionmaker": "sqlalchemy",
    "sqlalchemy.orm.scoping.scoped_session": "sqlalchemy",
    "psycopg_pool.pool_async.AsyncConnectionPool": "psycopg",
    "psycopg_pool.pool.ConnectionPool": "psycopg",
}
"""By module and name: which of these an object means."""
