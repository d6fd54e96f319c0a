"""Where the databases are: an address, or an object of the user's in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from landfast.config.settings import Address
from landfast.domain.errors import ConfigError
from landfast.drivers import Driver, inbox_driver, ledger_driver, scheme_of
from landfast.ledgers.brought import Brought

ALIASES = {"postgres": "postgresql", "mariadb": "mysql"}
"""Of schemes that two names are in use for."""

_OF_SQLALCHEMY = {"ssl": "sslmode", "prepared_statement_cache_size": None, "prepared_statement_name_func": None}
"""What it says in an address and the server does not know: another name, or nothing."""


def brought(given: dict[str, Any]) -> dict[str, Address]:
    """Take objects that stand in an address's place out of what the code gave, such as `ledger=engine`."""
    ledger = given.get("ledger")
    if ledger is None or isinstance(ledger, str):
        return {}
    scheme = scheme_of(ledger)
    if scheme is None:
        raise ConfigError(
            f"Inbox(): ledger is a {type(ledger).__name__}; give it an address, a SQLAlchemy engine or sessionmaker,"
            ' a psycopg pool, or "django:default"'
        )
    del given["ledger"]
    said = {name: given.pop(name) for name in ("desk", "scoped") if name in given}
    brought = Brought(ledger, **said) if said else ledger
    return {"ledger": Address(f"{type(ledger).__name__} of your own", "Inbox()", scheme, given=brought)}


def read(name: str, text: str, folder: Path, where: str) -> Address:
    origin = f"{where}{name.upper()}" if where == "LANDFAST_" else where.removesuffix(": ")
    before, colon, rest = text.partition(":")
    text, before = _without_dialect(text, before)
    if before.partition("+")[0] in {"mysql", "mariadb"}:
        before = before.partition("+")[0]  # its driver stays in the address: which one it is decides about handlers
    scheme = ALIASES.get(before, before) if colon else "sqlite"
    driver = _driver(name, scheme, text)
    if not driver.is_file:
        if driver.is_url and not rest.startswith("//"):
            raise ConfigError(f"{name}: write the address as {scheme}://user:password@host/name")
        try:
            urlsplit(text).port  # noqa: B018 - reading it is what checks it
        except ValueError:
            raise ConfigError(f"{name}: the {driver.title} address is malformed; check its host and port") from None
        return Address(text, origin, scheme)
    path = rest.removeprefix("//") if colon else text
    if not colon and "//" in text:
        raise ConfigError(
            f"{name}: the address has // and no scheme before it; write it as postgresql://..., or a path"
        )
    if not path:
        raise ConfigError(f"{name}: {scheme}: needs a path, such as {scheme}:landfast.db")
    return Address(str(folder / path), origin, scheme)


def _without_dialect(text: str, before: str) -> tuple[str, str]:
    """SQLAlchemy writes its driver into the address, as in postgresql+asyncpg://: the database is the same."""
    scheme, plus, _ = before.partition("+")
    if not plus or ALIASES.get(scheme, scheme) != "postgresql":
        return text, before
    address, question, query = text.removeprefix(before).partition("?")
    named = [(_OF_SQLALCHEMY.get(key, key), value) for key, value in parse_qsl(query, keep_blank_values=True)]
    kept = urlencode([(key, value) for key, value in named if key is not None])
    return f"{scheme}{address}{question if kept else ''}{kept}", scheme


def _driver(name: str, scheme: str, text: str) -> Driver:
    try:
        return inbox_driver(scheme) if name == "store" else ledger_driver(scheme, text)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def beside(store: Address) -> Address:
    """Where the ledger is unless somebody says so: beside the store's file, or in the same database."""
    origin = "it follows store"
    if inbox_driver(store.scheme).is_file:
        return Address(str(Path(store.target).parent / "landfast-ledger.db"), origin)
    try:
        ledger_driver(store.scheme, store.target)
    except ConfigError as error:
        raise ConfigError(f"ledger: it is not set, and cannot follow store: {error}; set it") from None
    return Address(store.target, origin, store.scheme)


def beside_django(found: dict[str, Any]) -> Address | None:
    """Where the store is unless somebody says so, if the ledger is a database of Django's: in the same one. A file in
    the current folder would be another one for each way in which a Django project is started."""
    ledger = found.get("ledger")
    if not isinstance(ledger, Address) or ledger.scheme != "django":
        return None
    return Address(ledger.target, "it follows ledger", "django")
