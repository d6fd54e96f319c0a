"""Whether two ledgers are one database, whatever leads there: an address, an engine, a sessionmaker or a pool."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from landfast.config import Address

_PORTS = {"postgresql": 5432, "mysql": 3306}
_FAMILIES = {"postgres": "postgresql", "mariadb": "mysql"}
_HERE = frozenset({"", "localhost", "127.0.0.1", "::1"})


def is_same(one: Address, other: Address) -> bool:
    if one.given is not None and _object(one) is _object(other):
        return True
    place = _place(one)
    return place is not None and place == _place(other)


def _object(address: Address) -> Any:
    """What the user gave, without what they said about it."""
    return getattr(address.given, "given", address.given)


def _place(address: Address) -> tuple[str, ...] | None:
    """None where it does not say where it is."""
    given = _object(address)
    if given is None:
        if address.scheme == "sqlite":
            return "sqlite", str(Path(address.target).resolve())
        return _read(address.target) if "://" in address.target else (address.scheme, address.target)
    if hasattr(given, "conninfo"):
        from landfast.ledgers.psycopg.address import address_of

        return _read(address_of(given, "landfast_ledger"))
    url = _url(given)
    return None if url is None else _read(url.render_as_string(hide_password=False))


def _url(given: Any) -> Any:
    """Of an engine, or of that of a sessionmaker or a scoped_session."""
    maker = getattr(given, "session_factory", given)
    return getattr(getattr(maker, "kw", {}).get("bind", maker), "url", None)


def _read(address: str) -> tuple[str, ...] | None:
    scheme, _, rest = address.partition("://")
    family = scheme.partition("+")[0]
    family = _FAMILIES.get(family, family)
    if family == "sqlite":
        return family, str(Path(rest.removeprefix("/").partition("?")[0]).resolve())
    split = urlsplit(f"{family}://{rest}")
    asked = {name: values[0] for name, values in parse_qs(split.query).items()}
    host = split.hostname or asked.get("host", "")
    # A socket of this machine leads to the server that listens on its port, too.
    place = "here" if host in _HERE or host.startswith(("/", "@")) else host
    port = split.port or asked.get("port") or _PORTS.get(family, "")
    return family, place, str(port), unquote(split.path.lstrip("/"))
