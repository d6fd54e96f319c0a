"""`[dependencies.NAME]`, or what the code says in its place, becomes a Dependency."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from landfast.config.checking import checked
from landfast.config.key import Key
from landfast.domain.dependency import RATE_AT_MOST, Dependency, checked_name
from landfast.domain.errors import ConfigError

DEPENDENCY_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "rate": Key(
            float,
            "200",
            "Calls a second that all workers together begin at most, of handlers and effects that use it.",
            0.01,
            RATE_AT_MOST,
            default="no limit, once it has been back for a few seconds",
        ),
    }
)


def dependency(name: str, options: Mapping[str, Any], *, where: str) -> Dependency:
    return Dependency(checked_name(name, where), **checked(options, DEPENDENCY_KEYS, where))


def dependencies(given: Any, *, where: str) -> Mapping[str, Dependency]:
    """The tables, checked; `where` begins the sentence about what is wrong with them."""
    if not isinstance(given, Mapping) or not all(isinstance(table, Mapping) for table in given.values()):
        raise ConfigError(f"{where}dependencies must be tables, such as [dependencies.mailer]")
    return {name: dependency(name, table, where=f"{where}dependencies.{name}: ") for name, table in given.items()}
