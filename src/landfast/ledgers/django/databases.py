"""The databases of a Django project: what they are, and the addresses that they have without Django."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from landfast.domain.errors import ConfigError

SCHEME = "django:"

_PASSED_ON = frozenset(
    {"sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslpassword", "passfile", "service", "servicefile"}
    | {"target_session_attrs", "application_name", "krbsrvname", "gsslib"}
)
"""What OPTIONS may say that belongs to the address; the rest is about how Django uses its connection."""


def alias_of(target: str) -> str:
    """Of `django:default`."""
    return target.removeprefix(SCHEME) or "default"


def vendor_of(target: str) -> str:
    """`postgresql` or `sqlite`. ConfigError for any other, for an alias that there is not, and without a project."""
    wrapper = wrapper_of(alias_of(target), target)
    vendor: str = wrapper.vendor
    if vendor not in {"postgresql", "sqlite"}:
        raise ConfigError(
            f"{target}: it is {wrapper.display_name}, on which a COMMIT inside of a handler cannot be prevented; "
            "use PostgreSQL or SQLite"
        )
    return vendor


def wrapper_of(alias: str, named: str) -> Any:
    """Django's connection of this thread. It need not be open."""
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.db import connections
    except ImportError:
        raise ConfigError(f"{named}: Django is not installed; install it, or give another address") from None
    try:
        if alias not in connections:
            known = ", ".join(f"{SCHEME}{each}" for each in connections)
            raise ConfigError(f"{named}: there is no database {alias!r} in DATABASES; there are {known}")
        return connections[alias]
    except ImproperlyConfigured as error:
        fix = "set DJANGO_SETTINGS_MODULE, or run it as manage.py landfast ..."
        raise ConfigError(f"{named}: Django's settings cannot be used ({error}); {fix}") from None


def postgres_address(wrapper: Any) -> str:
    """Where Django's PostgreSQL is, for connections of Landfast's own. As it is set now: a test runner changes it."""
    given: Mapping[str, Any] = wrapper.settings_dict
    options: Mapping[str, Any] = given["OPTIONS"]
    user, password = quote(given["USER"] or "", safe=""), quote(given["PASSWORD"] or "", safe="")
    query = {key: str(value) for key, value in options.items() if key in _PASSED_ON}
    if settings := " ".join(_startup_options(options)):
        query["options"] = settings
    host, port = str(given["HOST"] or options.get("host") or ""), str(given["PORT"] or options.get("port") or "")
    if host.startswith("/"):  # the folder of a socket
        query |= {"host": host} | ({"port": port} if port else {})
        host = port = ""
    name = quote(str(given["NAME"] or ""), safe="")
    login = f"{user}{f':{password}' if password else ''}@" if user else ""
    place = f"{host}{f':{port}' if port and host else ''}"
    return f"postgresql://{login}{place}/{name}{f'?{urlencode(query, quote_via=quote)}' if query else ''}"


def _startup_options(options: Mapping[str, Any]) -> list[str]:
    role = [f"-c role={options['assume_role']}"] if options.get("assume_role") else []
    return ([str(options["options"])] if options.get("options") else []) + role


def sqlite_file(wrapper: Any, named: str) -> Path:
    """ConfigError for a database in memory, which no other connection sees."""
    name = str(wrapper.settings_dict["NAME"])
    if wrapper.is_in_memory_db() or name.startswith("file:"):
        raise ConfigError(
            f"{named}: DATABASES has a database in memory, or a URI, there; give it the path of a file as NAME"
        )
    return Path(name).absolute()


def inbox_address(target: str) -> tuple[str, str]:
    """The scheme and address of the inbox for `store = "django:default"`: the same PostgreSQL; or, where that is a
    SQLite file, one of its own beside it, because two writers in one file would wait for each other."""
    vendor, wrapper = vendor_of(target), wrapper_of(alias_of(target), target)
    if vendor == "postgresql":
        return vendor, postgres_address(wrapper)
    return vendor, str(sqlite_file(wrapper, target).with_name("landfast.db"))
