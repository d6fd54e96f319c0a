"""`[alerts]` and `[alerts.sinks.NAME]` as they are written become AlertSettings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from landfast.config.alert_keys import ALERT_KEYS, NEEDED, SINK_KEYS, TAKEN
from landfast.config.checking import checked, nearest
from landfast.domain.alerts.alert import AlertName
from landfast.domain.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSettings:
    name: str
    kind: str
    url: str = field(default="", repr=False)
    """These are references (`env:NAME`, `file:PATH`) or literals, so never in a repr."""
    secret: str = field(default="", repr=False)
    routing_key: str = field(default="", repr=False)
    server: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    sender: str = ""
    to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSettings:
    enabled: bool = True
    off: tuple[str, ...] = ()
    every: float = 15.0
    quiet: float = 300.0
    repeat: float = 3_600.0
    runbooks: str = ""
    dead_letters: int = 5
    failing_share: float = 0.5
    failing_at_least: int = 10
    duplicates_at_least: int = 200
    volume_at_least: int = 100
    volume_times: float = 4.0
    silent_seconds: float = 900.0
    waiting_seconds: float = 300.0
    skew_seconds: float = 30.0
    unverified_at_least: int = 300
    refusals_at_least: int = 5
    alive_seconds: float = 60.0
    disk_bytes: int = 1024**3
    sinks: tuple[SinkSettings, ...] = ()


def alerts(given: Any, *, where: str) -> AlertSettings:
    """The table, checked; `where` begins the sentence about what is wrong with it."""
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where}alerts must be a table; write [alerts]")
    keys = dict(given)
    sinks = keys.pop("sinks", {})
    if not isinstance(sinks, Mapping) or not all(isinstance(table, Mapping) for table in sinks.values()):
        raise ConfigError(f"{where}alerts.sinks must be tables, such as [alerts.sinks.team]")
    known = checked(keys, ALERT_KEYS, f"{where}alerts: ")
    if "off" in known:
        known["off"] = _off(known["off"], where)
    return AlertSettings(**known, sinks=tuple(_sink(name, table, where) for name, table in sinks.items()))


def _off(given: list[Any], where: str) -> tuple[str, ...]:
    for name in given:
        if name not in {*AlertName}:
            hint = nearest(str(name), map(str, AlertName)) or f"; there are {', '.join(AlertName)}"
            raise ConfigError(f"{where}alerts: off: there is no alert {name!r}{hint}")
    return tuple(given)


def _sink(name: str, table: Mapping[str, Any], where: str) -> SinkSettings:
    where = f"{where}alerts.sinks.{name}: "
    if not name or len(name) > 100 or not all(c.isascii() and (c.isalnum() or c in "-_.") for c in name):
        raise ConfigError(f"{where}the name {name!r} must be letters, digits, '-', '_' or '.', 100 of them at most")
    known = checked(table, SINK_KEYS, where)
    kind = known.get("kind")
    if kind is None:
        raise ConfigError(f'{where}kind is missing; write kind = "slack", or one of {", ".join(NEEDED)}')
    for key in NEEDED[kind]:
        if not known.get(key):
            raise ConfigError(f"{where}{kind} needs {key}; write {key} = {SINK_KEYS[key].example}")
    for key in known:
        if key not in TAKEN[kind]:
            raise ConfigError(f"{where}{kind} has no use for {key}; remove it")
    if "to" in known:
        if not all(isinstance(each, str) and "@" in each for each in known["to"]):
            raise ConfigError(f"{where}to must be a list of mail addresses, such as {SINK_KEYS['to'].example}")
        known["to"] = tuple(known["to"])
    return SinkSettings(name=name, **known)
