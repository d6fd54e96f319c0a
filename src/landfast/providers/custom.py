"""Providers that the user adds: a table `[providers.NAME]` of landfast.toml, with the fields of a profile and a scheme.

    [providers.acme]
    scheme = "signed"                  # or "token", "jwt"; signed if it is left out
    signature = "header:Acme-Signature"
    content = "{timestamp}.{body}"
    timestamp = "header:Acme-Time"
    key = "body:id"
    type = "body:type"

    [[providers.acme.handshakes]]
    method = "GET"
    when = "query:challenge"
    text = "{query:challenge}"

Another package may bring a whole `Profile` instead, under the entry points `landfast.providers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from functools import partial
from typing import Any

from landfast.domain.answer import plain
from landfast.domain.errors import ConfigError
from landfast.providers.dedup import key_rule
from landfast.providers.handshake import Handshake, Proof
from landfast.providers.locations import read_at
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.token import TokenScheme

SCHEMES: dict[str, type[Any]] = {"signed": SignedScheme, "token": TokenScheme, "jwt": JwtScheme}

_NOT_WRITTEN = {"name", "scheme", "given", "samples", "siblings"}
"""Fields of a profile that no table has."""


def described(name: str, table: Mapping[str, Any]) -> Profile:
    """The profile that a table describes; ConfigError names the field and the fix."""
    where = f"providers.{name}"
    kind = table.get("scheme", "signed")
    if not isinstance(kind, str) or kind not in SCHEMES:
        raise ConfigError(f"{where}: scheme {kind!r} is not known: use {', '.join(SCHEMES)}")
    scheme_fields = _written(SCHEMES[kind])
    own_fields = {key: rule for key, rule in _written(Profile).items() if key not in _NOT_WRITTEN}
    known = {"scheme", *scheme_fields, *own_fields}
    for key in table:
        if key not in known:
            hint = _nearest(key, known) or f": scheme {kind} has {', '.join(sorted(scheme_fields))}"
            raise ConfigError(f"{where}: there is no field {key!r}{hint}")
    try:
        scheme_values = {key: _value(where, key, value) for key, value in table.items() if key in scheme_fields}
        if "items" in scheme_values and "item:" not in str(table.get("signature", table.get("token", ""))):
            del scheme_values["items"]  # the profile's alone: the signature is over the whole request
        own = {key: _value(where, key, value) for key, value in table.items() if key in own_fields}
        _check_meaning(where, {**scheme_values, **own})
        own.setdefault("key", "body")
        own.setdefault("type", "body:type")
        profile = Profile(name=name, scheme=_made(where, SCHEMES[kind], scheme_values), **own)
        _check_settings(profile, table)
    except ConfigError as error:
        text = str(error)
        raise ConfigError(text if text.startswith(where) else f"{where}: {text}") from None
    return profile


def _check_meaning(where: str, values: Mapping[str, Any]) -> None:
    for key, check in _CHECKS.items():
        try:
            check(values[key]) if key in values else None
        except ConfigError as error:
            raise ConfigError(f"{where}: {key}: {str(error).removeprefix('dedup ')}") from None
    if str(values.get("timestamp")).startswith("entry:") and not values.get("separator"):
        raise ConfigError(
            f"{where}: timestamp is an entry of the signature header; write separator = ',', or what parts it"
        )


def _check_methods(methods: tuple[str, ...]) -> None:
    if not methods or not all(method.isalpha() and method.isupper() for method in methods):
        raise ConfigError(f"{list(methods)} are no methods of HTTP; write methods = ['POST']")


def _check_unit(unit: str) -> None:
    if unit not in {"any", "ms"}:
        raise ConfigError(f"{unit!r} is not known: use any, ms")


def _check_letters(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{pattern!r} is no pattern: {error}") from None


_CHECKS: dict[str, Callable[[Any], object]] = {
    "signature": read_at,
    "token": read_at,
    "key": partial(key_rule, hmac_key="any"),
    "type": read_at,
    "entity": read_at,
    "occurred_at": read_at,
    "signed_at_place": read_at,
    "signed_at_unit": _check_unit,
    "methods": _check_methods,
    "type_letters": _check_letters,
}
"""What the text of a field must mean, so that a sentence about it can name the field."""


def _check_settings(profile: Profile, table: Mapping[str, Any]) -> None:
    """A source can only say what the provider lists."""
    read = set(re.findall(r"\{setting:([^}?]+)", str(table))).union(*(each.settings for each in profile.handshakes))
    unlisted = sorted(read - {setting.removesuffix("?") for setting in profile.settings})
    if unlisted:
        raise ConfigError(f"settings must list {unlisted[0]}, which is read; write settings = ['{unlisted[0]}']")


def _written(kind: type[Any]) -> dict[str, Any]:
    return {each.name: each for each in fields(kind) if each.init and not each.name.startswith("_")}


def _value(where: str, key: str, value: Any) -> Any:
    match key, value:
        case "handshakes", list():
            return tuple(_handshake(f"{where}: handshakes", each) for each in value)
        case "redelivery", dict():
            return _made(f"{where}: redelivery", Redelivery, value)
        case "thanks", str():
            return plain(value)
        case "tolerance", int() | float() if not isinstance(value, bool) and value > 0:
            return float(value)
        case "refusal" | "body_limit" | "shortest", int() if not isinstance(value, bool) and value > 0:
            return value
        case _, bool() if _OTHER_THAN_TEXT.get(key) == "true or false":
            return value
        case _, list() if key in _LISTS and _is_all_text(value):
            return tuple(value)
        case "require" | "claims", dict() if _is_all_text(value.values()):
            return dict(value)
        case _, str() if key not in _OTHER_THAN_TEXT and value:
            return value
    raise ConfigError(f"{where}: {key} must be {_OTHER_THAN_TEXT.get(key, 'text')}, not {value!r}")


_LISTS = {"settings", "environments", "methods", "traps", "algorithms", "credentials", "true_claims"}
_OTHER_THAN_TEXT = {
    "handshakes": "tables, such as [[providers.NAME.handshakes]]",
    "redelivery": "a table",
    "tolerance": "a number of seconds, or inf",
    "refusal": "an HTTP status, such as 401",
    "body_limit": "a number of bytes",
    "shortest": "a number of bytes",
    "fetch_back": "true or false",
    "time_of_object": "true or false",
    "body_varies": "true or false",
    "signs_once": "true or false",
    "proves_account": "true or false",
    "environments": "a list of names",
    "any_port": "true or false",
    "is_repeated": "true or false",
    "is_whole": "true or false",
    "is_json": "true or false",
    "is_basic": "true or false",
    "is_absent_when_empty": "true or false",
    "settings": "a list of names",
    "methods": "a list of methods",
    "traps": "a list of sentences",
    "algorithms": "a list of names, such as ['HS256']",
    "credentials": "a list of names",
    "true_claims": "a list of names",
    "require": "a table of headers",
    "claims": "a table of claims",
}


def _handshake(where: str, table: Any) -> Handshake:
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be tables, such as [[providers.NAME.handshakes]]")
    values = dict(table)
    if isinstance(values.get("text"), dict):
        values["text"] = _made(f"{where}: text", Proof, values["text"])
    if isinstance(values.get("json"), dict):
        values["json"] = {
            name: _made(f"{where}: json", Proof, each) if isinstance(each, dict) else each
            for name, each in values["json"].items()
        }
    handshake: Handshake = _made(where, Handshake, values)
    return handshake


def _made(where: str, kind: type[Any], values: Mapping[str, Any]) -> Any:
    known = _written(kind)
    for key in values:
        if key not in known:
            raise ConfigError(f"{where}: there is no field {key!r}{_hint(key, known)}")
    for name, rule in known.items():
        if name not in values and rule.default is MISSING and rule.default_factory is MISSING:
            raise ConfigError(f"{where}: {name} is missing; a provider of this scheme needs it")
    for key, value in values.items():
        fits, words = _FITS.get(str(known[key].type), (None, ""))
        if fits is not None and not fits(value):
            raise ConfigError(f"{where}: {key} must be {words}, not {value!r}")
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _is_all_text(values: Any) -> bool:
    return all(isinstance(each, str) for each in values)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_said(value: Any) -> bool:
    return isinstance(value, str | int | Proof) and not isinstance(value, bool)


_FITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "str": (_is_text, "text"),
    "str | None": (_is_text, "text"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "int": (lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number"),
    "float | None": (_is_number, "a number of seconds"),
    "tuple[float, ...] | None": (
        lambda value: isinstance(value, list) and all(map(_is_number, value)),
        "a list of seconds",
    ),
    "Mapping[str, str]": (lambda value: isinstance(value, dict) and _is_all_text(value.values()), "a table of texts"),
    "Value | None": (_is_said, "text, a number or a proof"),
    "Mapping[str, Value] | None": (
        lambda value: isinstance(value, dict) and all(map(_is_said, value.values())),
        "a table of texts, numbers or proofs",
    ),
}
"""What a table may hold, by the annotation of the field."""


def _hint(key: str, known: Any) -> str:
    return _nearest(key, known) or f": there are {', '.join(sorted(known))}"


def _nearest(key: str, known: Any) -> str:
    found = get_close_matches(key, list(known), n=1)
    return f": did you mean {found[0]}?" if found else ""
