"""Whether what was written can be taken, and the sentence about a value that cannot."""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from landfast.config.key import Key
from landfast.config.setting_keys import HANDLER_KEYS, KEYS, SOURCE_KEYS
from landfast.domain.errors import ConfigError

_TYPO_SIMILARITY = 0.6
"""How alike two keys must be for the one to be suggested: one or two wrong letters in a short word."""


def checked(values: Mapping[str, Any], rules: Mapping[str, Key], where: str) -> dict[str, Any]:
    found = {}
    for key, value in values.items():
        name = f"{where}{key.upper()}" if where == "LANDFAST_" else f"{where}{key}"
        rule = rules.get(key)
        if rule is None:
            known = (
                [*rules, "sources", "providers", "dependencies", "forward", "alerts", "admin"]
                if rules is KEYS
                else [*rules]
            )
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
        wanted = {
            str: "a string",
            int: "a whole number",
            float: "a number",
            list: "a list",
            bool: "true or false",
            dict: "a table",
        }[rule.kind]
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


def field_names(name: str, given: Iterable[Any]) -> tuple[str, ...]:
    """Names of fields, with dots between those that stand in one another."""
    for each in given:
        if not isinstance(each, str) or not all(step.strip() for step in each.split(".")):
            raise ConfigError(f'{name}: {each!r} is no name of a field; write each as "iban" or "customer.email"')
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
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=_TYPO_SIMILARITY)
    return f"; did you mean {found[0]!r}?" if found else ""
