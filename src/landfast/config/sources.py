"""A source as it is written, in `landfast.toml` or in the code, becomes SourceSettings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from landfast.config import retention
from landfast.config.checking import checked, nearest, networks, of_a_handler
from landfast.config.setting_keys import HANDLER_KEYS, KEYS, SOURCE_KEYS
from landfast.config.settings import SecretSettings, SourceSettings
from landfast.domain.errors import ConfigError

SHORTEST_INTERVAL_SECONDS = 300
"""Younger events are left alone anyway: they may be on their way."""
LONGEST_INTERVAL_SECONDS = 14 * 86_400
"""Stripe lists its events for 30 days."""
_UNIT_SECONDS = {"m": 60, "h": 3_600, "d": 86_400}
_SECRET_KEYS = ("value", "name", "from", "until")


def source(
    name: str,
    options: Mapping[str, Any],
    *,
    where: str,
    providers: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> SourceSettings:
    """A source's options, checked; `where` begins the sentence about what is wrong with them, and `providers` are those
    that the user described."""
    described = _described(str(options.get("provider")), providers, where)
    if not name or len(name) > 100 or not all(c.isascii() and (c.isalnum() or c in "-_.") for c in name):
        raise ConfigError(f"{where}the name {name!r} must be letters, digits, '-', '_' or '.', 100 of them at most")
    if options.get("provider") != "generic" or not options.get("secrets"):
        _find_misspelt(options, described or {}, where)
    if options.get("provider") is None:
        raise ConfigError(f'{where}provider is missing; name how it signs, such as provider = "stripe"')
    known = checked({key: options[key] for key in options if key in SOURCE_KEYS}, SOURCE_KEYS, where)
    secrets = _secrets(known.pop("secrets", []), where)
    makers: dict[str, Callable[[Any, str], object]] = {
        "public_url": _public_url,
        "allow_from": _senders,
        "retention": retention.read,
        "ignore": _patterns,
    }
    known |= {key: make(known[key], where) for key, make in makers.items() if key in known}
    if "reconcile" in known:
        known["reconcile"] = _interval(known["reconcile"], where, has_listing="listing" in known)
    extra = {key: value for key, value in options.items() if key not in SOURCE_KEYS}
    return SourceSettings(name=name, secrets=secrets, options=extra, described=described, **known)


def _secrets(given: list[Any], where: str) -> tuple[SecretSettings, ...]:
    if not given:
        raise ConfigError(f'{where}secrets is missing or empty; give at least one, such as secrets = ["env:MY_SECRET"]')
    return tuple(_secret(each, where) for each in given)


def _secret(given: Any, where: str) -> SecretSettings:
    """`"env:NAME"`, or a table with value, name, from and until."""
    if isinstance(given, str):
        return SecretSettings(value=given)
    if not isinstance(given, dict):
        raise ConfigError(f'{where}secrets must be a list of strings, such as ["env:MY_SECRET"], or tables with value')
    for key in given:
        if key not in _SECRET_KEYS:
            hint = nearest(key, _SECRET_KEYS) or f"; the keys are {', '.join(_SECRET_KEYS)}"
            raise ConfigError(f"{where}secrets: there is no key {key!r}{hint}")
    for key in ("value", "name"):
        if not isinstance(given.get(key, "" if key == "value" else "-"), str) or given.get(key, "-") == "":
            raise ConfigError(f'{where}secrets: {key} must be a string, such as value = "env:MY_SECRET"')
    if "value" not in given:
        raise ConfigError(f'{where}secrets: value is missing; write value = "env:MY_SECRET"')
    start, end = _moment(given, "from", -math.inf, where), _moment(given, "until", math.inf, where)
    if not start < end:
        raise ConfigError(f"{where}secrets: until must be after from")
    return SecretSettings(value=given["value"], name=given.get("name"), start=start, end=end)


def _moment(given: Mapping[str, Any], key: str, default: float, where: str) -> float:
    value = given.get(key)
    if value is None:
        return default
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ConfigError(f"{where}secrets: {key} must be a time with its zone, such as {key} = 2026-01-31T00:00:00Z")
    return value.timestamp()


def _senders(given: list[Any], where: str) -> tuple[str, ...]:
    if not given:
        raise ConfigError(f"{where}allow_from is empty; name who may send, or leave it out for everybody")
    return networks(f"{where}allow_from", given)


def _patterns(given: list[Any], where: str) -> tuple[str, ...]:
    if not given:
        raise ConfigError(f'{where}ignore is empty; leave it out, or name types in it, such as ignore = ["invoice.*"]')
    if not all(isinstance(each, str) and each for each in given):
        raise ConfigError(f'{where}ignore must be a list of types or patterns, such as ignore = ["invoice.*"]')
    return tuple(given)


def _interval(text: str, where: str, *, has_listing: bool) -> float:
    if not has_listing:
        raise ConfigError(f"{where}reconcile needs a listing; say where the provider lists its events")
    number, unit = text[:-1], text[-1:]
    seconds = int(number) * _UNIT_SECONDS[unit] if number.isdecimal() and unit in _UNIT_SECONDS else 0
    if not SHORTEST_INTERVAL_SECONDS <= seconds <= LONGEST_INTERVAL_SECONDS:
        raise ConfigError(f'{where}reconcile is {text!r}; it is from 5m to 14d, such as reconcile = "6h"')
    return float(seconds)


def _public_url(text: str, where: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.fragment:
        raise ConfigError(
            f"{where}public_url must be all of the address that the sender was given, with its query if it has one, "
            'such as "https://hooks.example.com/in/twilio"'
        )
    return text


def _described(name: str, providers: Mapping[str, Mapping[str, Any]], where: str) -> Mapping[str, Any] | None:
    """The user's own table for a provider. One that is nearly called so was meant, unless there is one of this name."""
    if name in providers or not (hint := nearest(name, providers)):
        return providers.get(name)
    from landfast.providers import provider  # late: only a source in the settings needs to know

    try:
        provider(name)
    except ConfigError:
        raise ConfigError(f"{where}there is no provider {name!r}{hint}") from None
    return None


def _find_misspelt(options: Mapping[str, Any], described: Mapping[str, Any], where: str) -> None:
    """What is missing may be there under a name that is nearly its own. Otherwise it may be the provider's own: the
    `public_key` of one looks like a `public_url`."""
    from landfast.providers.catalogue import PROFILES  # late: only a source in the settings needs to know

    known = PROFILES.get(str(options.get("provider")))
    own = {str(name).removesuffix("?") for name in described.get("settings", known.settings if known else ())}
    for key in options:
        if key in HANDLER_KEYS and key not in own:
            raise ConfigError(f"{where}there is no key {key!r}{of_a_handler(key)}")
        if key in KEYS and key not in SOURCE_KEYS and key not in own:
            raise ConfigError(f"{where}{key} is no key of a source; write it above the first [table] of the file")
        if key not in SOURCE_KEYS and key not in own and (hint := nearest(key, SOURCE_KEYS)):
            raise ConfigError(f"{where}there is no key {key!r}{hint}")
