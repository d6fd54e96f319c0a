"""Where the pool's database is, as an address for Landfast's own few connections."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from landfast.domain.errors import ConfigError

_PASSED_ON = frozenset(
    {"sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "passfile", "target_session_attrs", "options", "service"}
)
"""What asyncpg understands as libpq does, or hands to the server. The others are about one connection of the pool's."""


def address_of(pool: Any, named: str) -> str:
    """ConfigError where the pool does not know it before it connects."""
    if callable(pool.conninfo) or callable(pool.kwargs):
        raise ConfigError(
            f"{named}: this pool asks a function for its address, and Landfast needs it for connections of its own;"
            " give the pool a connection string and kwargs as values"
        )
    given = {name: value for name, value in (pool.kwargs or {}).items() if name in _libpq()}
    try:
        found = conninfo_to_dict(pool.conninfo or "", **given)
    except psycopg.Error:  # its sentence may quote the password
        raise ConfigError(f"{named}: the pool's connection string cannot be read; correct it") from None
    return _url(found)


def _url(found: dict[str, Any]) -> str:
    who = quote(str(found.get("user") or ""), safe="")
    if found.get("password"):
        who += ":" + quote(str(found["password"]), safe="")
    hosts, ports = (str(found.get(name) or "") for name in ("host", "port"))
    where, query = "", {name: str(value) for name, value in found.items() if name in _PASSED_ON and value is not None}
    if hosts.startswith(("/", "@")) or "," in hosts or ":" in hosts or not hosts:
        query |= {name: value for name, value in (("host", hosts), ("port", ports)) if value}
    else:
        where = f"{hosts}:{ports}" if ports else hosts
    at = f"{who}@" if who else ""
    name = quote(str(found.get("dbname") or ""), safe="")
    return f"postgresql://{at}{where}/{name}" + (f"?{urlencode(query)}" if query else "")


def _libpq() -> frozenset[str]:
    return frozenset(option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults())
