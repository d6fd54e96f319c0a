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

from collections.abc import Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any

from landfast.domain.answer import plain
from landfast.domain.errors import ConfigError
from landfast.providers.handshake import Handshake, Proof
from landfast.providers.profile import Profile, Redelivery
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.token import TokenScheme

SCHEMES: dict[str, type[Any]] = {"signed": SignedScheme, "token": TokenScheme, "jwt": JwtScheme}

_NOT_WRITTEN = {"name", "scheme", "given", "samples"}
"""Fields of a profile that no table has."""


def described(name: str, table: Mapping[str, Any]) -> Profile:
    """The profile that a table describes; ConfigError names the field and the fix."""
    where = f"providers.{name}"
    kind = table.get("scheme", "signed")
    if kind not in SCHEMES:
        raise ConfigError(f"{where}: scheme {kind!r} is not known: use {', '.join(SCHEMES)}")
    scheme_fields = _written(SCHEMES[kind])
    own_fields = {key: rule for key, rule in _written(Profile).items() if key not in _NOT_WRITTEN}
    known = {"scheme", *scheme_fields, *own_fields}
    for key in table:
        if key not in known:
            raise ConfigError(f"{where}: there is no field {key!r}{_hint(key, known)}")
    try:
        scheme_values = {key: _value(where, key, value) for key, value in table.items() if key in scheme_fields}
        if "items" in scheme_values and "item:" not in str(table.get("signature", table.get("token", ""))):
            del scheme_values["items"]  # the profile's alone: the signature is over the whole request
        own = {key: _value(where, key, value) for key, value in table.items() if key in own_fields}
        own.setdefault("key", "body")
        own.setdefault("type", "body:type")
        return Profile(name=name, scheme=_made(where, SCHEMES[kind], scheme_values), **own)
    except ConfigError as error:
        text = str(error)
        raise ConfigError(text if text.startswith(where) else f"{where}: {text}") from None


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
        case "settings" | "methods" | "traps" | "algorithms" | "credentials" | "true_claims", list() if _is_all_text(
            value
        ):
            return tuple(value)
        case "require" | "claims", dict() if _is_all_text(value.values()):
            return dict(value)
        case _, str() if key not in _OTHER_THAN_TEXT and value:
            return value
    raise ConfigError(f"{where}: {key} must be {_OTHER_THAN_TEXT.get(key, 'text')}, not {value!r}")


_OTHER_THAN_TEXT = {
    "handshakes": "tables, such as [[providers.NAME.handshakes]]",
    "redelivery": "a table",
    "tolerance": "a number of seconds, or inf",
    "refusal": "an HTTP status, such as 401",
    "body_limit": "a number of bytes",
    "shortest": "a number of bytes",
    "fetch_back": "true or false",
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
    try:
        return kind(**values)
    except (TypeError, AttributeError) as error:
        raise ConfigError(f"{where}: cannot be read: {error}") from None


def _is_all_text(values: Any) -> bool:
    return all(isinstance(each, str) for each in values)


def _hint(key: str, known: Any) -> str:
    nearest = get_close_matches(key, list(known), n=1)
    return f": did you mean {nearest[0]}?" if nearest else f": there are {', '.join(sorted(known))}"
