"""A MySQL ledger by its address: an engine of Landfast's own on it. Nothing of SQLAlchemy is imported to tell what is
missing."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from landfast.domain.errors import ConfigError
from landfast.ledgers.brought import Brought
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import Ledger
from landfast.sealing import Seal

DRIVERS = ("aiomysql", "pymysql")
"""The first is that of an address which names none."""


def driver_of(address: str) -> dict[str, Any]:
    """The fields of its LedgerDriver. ConfigError where its packages are not installed."""
    driver = _driver(address)
    if driver not in DRIVERS:
        known = " or ".join(f"mysql+{each}://" for each in DRIVERS)
        raise ConfigError(f"{driver!r} is no driver for MySQL that Landfast knows; write {known}")
    for package in ("sqlalchemy", "pymysql", driver):
        if find_spec(package) is None:
            raise ConfigError(f"a MySQL ledger needs the package {package}; install landfast[mysql]")
    from landfast.ledgers.sqlalchemy.driver import of_mysql

    return of_mysql(is_async=driver == "aiomysql") | {"title": "MySQL", "is_url": True, "make": _make}


def _make(target: str, *, clock: Clock, chance: Chance, seal: Seal | None, concurrency: int, named: str) -> Ledger:
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.ext.asyncio import create_async_engine

    from landfast.ledgers.sqlalchemy.driver import make

    driver = _driver(target)
    url = make_url(target).set(drivername=f"mysql+{driver}")
    create: Any = create_async_engine if driver == "aiomysql" else create_engine
    engine = create(url, pool_size=concurrency, max_overflow=1)
    return make(Brought(engine), clock=clock, chance=chance, seal=seal, concurrency=concurrency, named=named)


def _driver(address: str) -> str:
    return address.partition(":")[0].partition("+")[2] or DRIVERS[0]
