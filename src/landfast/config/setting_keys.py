"""Which keys there are, what each takes, and the sentence about a value that is none of it."""

from __future__ import annotations

import difflib
import ipaddress
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from landfast.domain.errors import ConfigError

PRESETS = ("low-volume", "high-volume", "critical")
SAME_KEY = ("duplicate", "hold")
SAME_PROOF = ("hold", "take")
UNSIGNED_TYPE = ("hold", "trust")
UNHANDLED = ("keep", "done", "dead")
NOT_BUILT_YET = MappingProxyType({"ordered_by": "order per entity is not built yet; remove ordered_by"})
"""Keys that will mean something. Until then they are refused: a user who sets one would rely on it."""

HANDLER_KEYS = ("attempts", "backoff", "deadline", "isolation", "group")
"""What belongs to a handler, and so to the code."""


@dataclass(frozen=True, slots=True)
class Key:
    kind: type
    example: str
    least: float = -math.inf
    most: float = math.inf
    one_of: tuple[str, ...] = ()


KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "store": Key(str, '"sqlite:landfast.db"'),
        "ledger": Key(str, '"sqlite:shop.db"'),
        "app": Key(str, '"handlers:inbox"'),
        "host": Key(str, '"127.0.0.1"'),
        "port": Key(int, "8420", 0, 65535),
        "intakes": Key(int, "1", 1, 64),
        "workers": Key(int, "1", 0, 64),
        "hands": Key(int, "16", 1, 256),
        "lease": Key(float, "30", 1, 3600),
        "preset": Key(str, '"critical"', one_of=PRESETS),
        "redis": Key(str, '"redis://127.0.0.1:6379/0"'),
        "journal": Key(str, '"nats://127.0.0.1:4222"'),
        "drainers": Key(int, "1", 1, 64),
        "spool": Key(str, '"/var/lib/landfast/spool"'),
        "spool_limit": Key(int, "1073741824", 1024 * 1024, 2**40),
        "spool_anywhere": Key(bool, "true"),
        "dedup_memory": Key(float, "3024000", 3600, 10 * 365 * 86_400),
        "seal": Key(str, '"env:LANDFAST_MASTER_KEY"'),
        "seal_old": Key(str, '"env:LANDFAST_OLD_MASTER_KEY"'),
        "https_only": Key(bool, "true"),
        "trusted_proxies": Key(list, '["10.0.0.0/8"]'),
    }
)
SOURCE_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "provider": Key(str, '"stripe"'),
        "secrets": Key(list, '["env:NAME"]'),
        "tolerance": Key(float, "300", 1, 86400),  # a day: beyond it a captured request replays at leisure
        "dedup": Key(str, '"body"'),
        "dedup_key": Key(str, '"env:NAME"'),
        "body_limit": Key(int, "1048576", 1, 64 * 1024 * 1024),  # the whole of intake's in-flight budget
        "public_url": Key(str, '"https://hooks.example.com/in/twilio"'),
        "allow_short_secret": Key(bool, "true"),
        "confirm_subscription": Key(bool, "true"),
        "same_key": Key(str, '"hold"', one_of=SAME_KEY),
        "same_proof": Key(str, '"take"', one_of=SAME_PROOF),
        "unsigned_type": Key(str, '"hold"', one_of=UNSIGNED_TYPE),
        "rate": Key(float, "100", 0.01, 1_000_000),
        "key_rate": Key(float, "10", 0.01, 1_000_000),
        "event_rate": Key(float, "1000", 0.01, 1_000_000),
        "byte_rate": Key(float, "1048576", 1, 1e12),
        "allow_from": Key(list, '["192.0.2.0/24"]'),
        "unhandled": Key(str, '"done"', one_of=UNHANDLED),
        "ignore": Key(list, '["invoice.*"]'),
        "concurrency": Key(int, "4", 1, 256),  # as many as a worker can have hands
    }
)
_MISTAKES = 0.6
"""How alike two keys must be for the one to be suggested: one or two wrong letters in a short word."""


def checked(values: Mapping[str, Any], rules: Mapping[str, Key], where: str) -> dict[str, Any]:
    found = {}
    for key, value in values.items():
        name = f"{where}{key.upper()}" if where == "LANDFAST_" else f"{where}{key}"
        rule = rules.get(key)
        if key in NOT_BUILT_YET:
            raise ConfigError(f"{where}{NOT_BUILT_YET[key]}")
        if rule is None:
            known = [*rules, "sources", "providers"] if rules is KEYS else [*rules]
            hint = nearest(key, known) or f"; the keys are {', '.join(known)}"
            if key in SOURCE_KEYS:
                hint = "; it belongs to a source: write it under [sources.NAME]"
            if key in HANDLER_KEYS:
                hint = of_a_handler(key)
            raise ConfigError(f"{where}there is no key {key!r}{hint}")
        if value is None:  # TOML has none: an argument that was not given
            continue
        found[key] = _value(name, value, rule)
    return found


def _value(name: str, value: Any, rule: Key) -> Any:
    if rule.kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, rule.kind) or (isinstance(value, bool) and rule.kind is not bool):
        wanted = {str: "a string", int: "a whole number", float: "a number", list: "a list", bool: "true or false"}[
            rule.kind
        ]
        example = f"{name.rpartition(' ')[2].removeprefix('LANDFAST_').lower()} = {rule.example}"
        raise ConfigError(f"{name} must be {wanted}, not {type(value).__name__}, such as {example}")
    if isinstance(value, str) and not value.strip():
        raise ConfigError(f"{name} is empty; give it a value, or leave it out")
    if rule.one_of and value not in rule.one_of:
        raise ConfigError(f"{name} is {value!r}; it must be one of {', '.join(rule.one_of)}")
    if isinstance(value, int | float) and not rule.least <= value <= rule.most:
        raise ConfigError(f"{name} is {value}; it must be from {_plain(rule.least)} to {_plain(rule.most)}")
    return value


def _plain(limit: float) -> str:
    return f"{limit:.0f}" if limit == int(limit) else f"{limit:g}"


def networks(name: str, given: Iterable[Any]) -> tuple[str, ...]:
    """Addresses and networks, as they are written."""
    for each in given:
        try:
            ipaddress.ip_network(each if isinstance(each, str) else "")  # a number would be an address too
        except ValueError:
            fix = _network_of(each) or 'write each as "192.0.2.7" or "192.0.2.0/24"'
            raise ConfigError(f"{name}: {each!r} is no address or network; {fix}") from None
    return tuple(given)


def _network_of(written: Any) -> str:
    """`did you mean 'x'?` for a network that is written with the address of one machine in it."""
    with suppress(ValueError):
        return f"did you mean '{ipaddress.ip_network(str(written), strict=False)}'?"
    return ""


def of_a_handler(key: str) -> str:
    return f"; it belongs to a handler: write it in the code, @inbox.on(..., {key}=...)"


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing when no known word is close."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=_MISTAKES)
    return f"; did you mean {found[0]!r}?" if found else ""
