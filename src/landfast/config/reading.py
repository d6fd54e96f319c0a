"""Read the settings: the file, then the environment, then what the code says."""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from landfast.config import addresses, retention
from landfast.config.alerts import alerts
from landfast.config.checking import checked, field_names, nearest, networks
from landfast.config.dependencies import dependencies
from landfast.config.forwards import forwards
from landfast.config.oidc import oidc
from landfast.config.setting_keys import KEYS, SOURCE_KEYS
from landfast.config.settings import Address, Server, Settings, SourceSettings
from landfast.config.sources import source
from landfast.domain.errors import ConfigError
from landfast.drivers import inbox_driver, ledger_driver

FILE = "landfast.toml"
SCHEMES = {"redis": ("redis", "rediss", "valkey", "valkeys", "unix"), "journal": ("nats", "tls")}


def load(
    path: Path | str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    environ = os.environ if environ is None else environ
    file = _file(path, environ)
    tables = _read(file) if file is not None else {}
    folder = file.parent if file is not None else Path()
    sources, providers = tables.pop("sources", {}), tables.pop("providers", {})
    overrides = dict(overrides or {})
    name = f"{file.name if file else FILE}: "
    told = alerts(overrides.pop("alerts", tables.pop("alerts", {})), where=name)
    signing_in = oidc(overrides.pop("admin", tables.pop("admin", {})), where=name)
    used = dependencies(overrides.pop("dependencies", tables.pop("dependencies", {})), where=name)
    sent_on = forwards(overrides.pop("forward", tables.pop("forward", [])), where=name)
    # Paths in a file are relative to that file; those of the environment and the code, to where we run.
    layers = (
        (tables, name, folder),
        (_environment(environ), "LANDFAST_", Path()),
        (overrides, "Inbox(): ", Path()),
    )
    found: dict[str, Any] = {}
    brought = addresses.brought(layers[-1][0])
    for layer, where, start in layers:
        found |= {name: _made(name, value, start, where) for name, value in checked(layer, KEYS, where).items()}
    found |= brought
    made = _settled(found, _sources(sources, providers, file), providers, folder)
    made = replace(made, alerts=told, oidc=signing_in, forwards=sent_on)
    return replace(made, file=file, dependencies=MappingProxyType(used))


def strange_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """A sentence for each LANDFAST_* variable that nobody reads: a typing mistake, most likely."""
    environ = os.environ if environ is None else environ
    known = ["LANDFAST_CONFIG", *(f"LANDFAST_{key.upper()}" for key in KEYS)]
    all_of_them = f"; the variables are {', '.join(known)}"
    named = _named_for_secrets(environ)
    return [
        f"{name} is set, and nothing reads it{_of_a_source(name) or nearest(name, known) or all_of_them}"
        for name in sorted(environ)
        if name.startswith("LANDFAST_") and name not in known and name not in named
    ]


def _named_for_secrets(environ: Mapping[str, str]) -> set[str]:
    """Those that a setting names as `env:NAME`, in the file or in a variable of ours."""
    texts = [value for name, value in environ.items() if name.startswith("LANDFAST_")]
    with contextlib.suppress(OSError, ConfigError):  # whoever loads the settings says what is wrong with the file
        file = _file(None, environ)
        texts += [file.read_text("utf-8", "replace")] if file is not None else []
    return {name for text in texts for name in re.findall(r"\benv:(\w+)", text)}


def _of_a_source(name: str) -> str:
    key = name.removeprefix("LANDFAST_").lower()
    return f"; {key} belongs to a source: write it under [sources.NAME]" if key in SOURCE_KEYS else ""


def _file(path: Path | str | None, environ: Mapping[str, str]) -> Path | None:
    """The file to read. One that was asked for must be there; `landfast.toml` in the current directory need not."""
    asked = path or environ.get("LANDFAST_CONFIG")
    if asked:
        file = Path(asked)
        if not file.is_file():
            raise ConfigError(f"configuration: there is no file {str(file)!r}; correct the path, or run landfast init")
        return file
    return Path(FILE) if Path(FILE).is_file() else None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        # Not the line itself: it may hold a secret.
        hint = '; text stands in quotes, as in provider = "stripe"' if str(error).startswith("Invalid value") else ""
        raise ConfigError(f"{file.name}: not valid TOML: {error}{hint}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file.name}: not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{file.name}: cannot be read: {error.strerror}") from None


def _environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """LANDFAST_PORT and the like, by key, as the types that the keys take. Others are not ours to judge."""
    found: dict[str, Any] = {}
    for key, rule in KEYS.items():
        name = f"LANDFAST_{key.upper()}"
        text = environ.get(name)
        if text is None or (text == "" and rule.kind is not str):
            continue
        try:
            found[key] = _from_text(text, rule.kind)
        except ValueError:
            wanted = {bool: "true or false", dict: "a list of KEY=VALUE"}.get(rule.kind, "a number")
            example = "bodies=30d,dead=365d" if rule.kind is dict else rule.example
            raise ConfigError(
                f"{name}: {text!r} is not {wanted}; set it to one, such as {example}, or unset it"
            ) from None
    return found


def _from_text(text: str, kind: type) -> Any:
    if kind is list:
        return [each.strip() for each in text.split(",")]
    if kind is dict:  # bodies=30d,dead=365d
        return {key.strip(): value.strip() for key, value in (each.split("=") for each in text.split(","))}
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    return kind(text)


def _made(name: str, value: Any, folder: Path, where: str) -> Any:
    """A checked value as the settings hold it."""
    match name:
        case "store" | "ledger":
            return addresses.read(name, value, folder, where)
        case "redis" | "journal":
            return _server(name, value, where)
        case "spool":
            return folder / value
        case "retention":
            return retention.read(value, where)
        case "trusted_proxies":
            return networks(_named(name, where), value)
        case "redact":
            return field_names(_named(name, where), value)
    return value


def _server(name: str, text: str, where: str) -> Server:
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in SCHEMES[name] and (parts.scheme == "unix" or _are_hosts(parts.netloc, name))
    except ValueError:
        is_whole = False
    if is_whole and name == "redis" and parts.scheme != "unix" and not parts.path.strip("/").isdigit():
        is_whole = parts.path in ("", "/")  # a name in the place of the database's number would mean the first one
    if not is_whole:  # not repeated: it may hold a password
        raise ConfigError(f"{_named(name, where)} must be an address, such as {KEYS[name].example}")
    return Server(text, _named(name, where))


def _are_hosts(netloc: str, name: str) -> bool:
    """One, with or without a port; of a broker several, of which any is enough to find the others."""
    hosts = netloc.rpartition("@")[2].split(",") if name == "journal" else [netloc]
    each = [urlsplit(f"//{host}") for host in hosts]
    return all(one.hostname and one.port != 0 for one in each)


def _named(name: str, where: str) -> str:
    return f"{where}{name.upper()}" if where == "LANDFAST_" else f"{where}{name}"


def _sources(tables: Any, providers: Any, file: Path | None) -> dict[str, SourceSettings]:
    for key, given, example in (("sources", tables, "stripe"), ("providers", providers, "acme")):
        if not isinstance(given, dict) or not all(isinstance(table, dict) for table in given.values()):
            raise ConfigError(f"{FILE}: {key} must be tables, such as [{key}.{example}]")
    name = file.name if file else FILE
    return {
        key: source(key, table, where=f"{name}: sources.{key}: ", providers=providers) for key, table in tables.items()
    }


def _settled(
    found: dict[str, Any], sources: dict[str, SourceSettings], providers: dict[str, Any], folder: Path
) -> Settings:
    store = found.setdefault("store", addresses.beside_django(found) or Address(str(folder / "landfast.db")))
    ledger = found["ledger"] = found.get("ledger") or addresses.beside(store)
    driver = ledger_driver(ledger.scheme, ledger.for_driver)
    are_files = inbox_driver(store.scheme).is_file and driver.is_file
    if are_files and Path(store.target).resolve() == Path(ledger.target).resolve():
        raise ConfigError(f"ledger: it is the store's own file; on {driver.title} they must be two files")
    for key in ("concurrency", "workers"):
        driver.check_number(key, found.get(key, 1))
    # One handler gets half of them: eight connections to the ledger are what a PostgreSQL of four cores keeps busy.
    found.setdefault("concurrency", 1 if driver.has_one_writer else 16)
    _apply_preset(found, folder)
    return Settings(**found, sources=MappingProxyType(sources), providers=MappingProxyType(providers), folder=folder)


def _apply_preset(found: dict[str, Any], folder: Path) -> None:
    """A preset says which layers there are; what is missing of them is found now, not in the first storm."""
    preset = found.get("preset")
    if preset in ("high-volume", "critical") and "redis" not in found:
        raise ConfigError(f"preset is {preset!r}, which needs redis; write redis = {KEYS['redis'].example}")
    if preset == "critical" and "journal" not in found:
        found.setdefault("spool", folder / "landfast-spool")
