"""Settings: `landfast.toml`, then LANDFAST_* in the environment, then what the code says; each may override the last.

Every mistake is a ConfigError: one sentence that names the key, where it was read, and the fix. A value that may hold a
password is never repeated in it.
"""

from __future__ import annotations

import difflib
import math
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from landfast.domain.errors import ConfigError

FILE = "landfast.toml"
POSTGRES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """Where a database is: a SQLite file or a PostgreSQL DSN. It prints without its password."""

    target: str
    origin: str = field(default="the default", compare=False)
    """Who says so: a file, a variable, the code. For the sentence about what is wrong with it."""

    @property
    def is_sqlite(self) -> bool:
        return not self.target.startswith(POSTGRES)

    def __str__(self) -> str:
        if self.is_sqlite:
            return self.target
        parts = urlsplit(self.target)
        at = f"{parts.username}@" if parts.username else ""
        # The query may hold a password too, so it is left out whole.
        return f"postgresql://{at}{parts.netloc.rpartition('@')[2]}{parts.path}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSettings:
    value: str = field(repr=False)
    """A reference (`env:NAME`, `file:PATH`) or a literal, so never in a repr."""
    name: str | None = None
    """For logs; its number in the source unless it is set."""
    start: float = -math.inf
    end: float = math.inf
    """Unix seconds: `from` and `until` in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    name: str
    provider: str
    secrets: tuple[SecretSettings, ...]
    tolerance: float = 0.0
    """Seconds a signature's own timestamp may be off; 0 for what suits the provider, 300 for most."""
    dedup: str | None = None
    dedup_key: str | None = field(default=None, repr=False)
    ordered_by: str | None = None
    body_limit: int | None = None
    """Bytes; the provider's own limit unless it is set."""
    public_url: str = ""
    """The address that the sender was given: some sign it."""
    allow_short_secret: bool = False
    confirm_subscription: bool = False
    """Whether the address in a handshake is opened without asking."""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What only this provider takes, such as verify_token; and all that describes the generic one."""
    described: Mapping[str, Any] | None = None
    """The table `[providers.NAME]` of this file, if the provider is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    store: Address
    ledger: Address
    app: str | None = None
    host: str = "127.0.0.1"
    """The loopback: a server that the world can reach is a decision, not a default."""
    port: int = 8420
    intakes: int = 1
    workers: int = 1
    hands: int
    """How many events one worker processes at a time: 8 on PostgreSQL; 1 on SQLite, which has one writer."""
    lease: float = 30.0
    """Seconds until a worker that said nothing is taken for dead. It says something every third of that."""
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The tables `[providers.NAME]`, as they are written."""
    folder: Path = field(default_factory=Path)
    """Where the configuration was found: relative paths in it start there."""


@dataclass(frozen=True, slots=True)
class _Key:
    kind: type
    example: str
    least: float = -math.inf
    most: float = math.inf


_KEYS: Mapping[str, _Key] = MappingProxyType(
    {
        "store": _Key(str, '"sqlite:landfast.db"'),
        "ledger": _Key(str, '"sqlite:shop.db"'),
        "app": _Key(str, '"handlers:inbox"'),
        "host": _Key(str, '"127.0.0.1"'),
        "port": _Key(int, "8420", 0, 65535),
        "intakes": _Key(int, "1", 1, 64),
        "workers": _Key(int, "1", 0, 64),
        "hands": _Key(int, "8", 1, 256),
        "lease": _Key(float, "30", 1, 3600),
    }
)
_SOURCE_KEYS: Mapping[str, _Key] = MappingProxyType(
    {
        "provider": _Key(str, '"stripe"'),
        "secrets": _Key(list, '["env:NAME"]'),
        "tolerance": _Key(float, "300", 1, 86400),  # a day: beyond it a captured request replays at leisure
        "dedup": _Key(str, '"body"'),
        "dedup_key": _Key(str, '"env:NAME"'),
        "ordered_by": _Key(str, '"data.object.customer"'),
        "body_limit": _Key(int, "1048576", 1, 64 * 1024 * 1024),  # the whole of intake's in-flight budget
        "public_url": _Key(str, '"https://hooks.example.com/in/twilio"'),
        "allow_short_secret": _Key(bool, "true"),
        "confirm_subscription": _Key(bool, "true"),
    }
)
_SECRET_KEYS = ("value", "name", "from", "until")
_MISTAKES = 0.6
"""How alike two keys must be for the one to be suggested: one or two wrong letters in a short word."""


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
    # Paths in a file are relative to that file; those of the environment and the code, to where we run.
    layers = (
        (tables, f"{file.name if file else FILE}: ", folder),
        (_environment(environ), "LANDFAST_", Path()),
        (dict(overrides or {}), "Inbox(): ", Path()),
    )
    found: dict[str, Any] = {}
    for layer, where, start in layers:
        found |= {
            name: _address(name, value, start, where) if name in ("store", "ledger") else value
            for name, value in _checked(layer, _KEYS, where).items()
        }
    return _settled(found, _sources(sources, providers, file), providers, folder)


def strange_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """A sentence for each LANDFAST_* variable that nobody reads: a typing mistake, most likely."""
    known = ["LANDFAST_CONFIG", *(f"LANDFAST_{key.upper()}" for key in _KEYS)]
    all_of_them = f"; the variables are {', '.join(known)}"
    return [
        f"{name} is set, and nothing reads it{nearest(name, known) or all_of_them}"
        for name in sorted(os.environ if environ is None else environ)
        if name.startswith("LANDFAST_") and name not in known
    ]


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
    checked = _checked({key: options[key] for key in options if key in _SOURCE_KEYS}, _SOURCE_KEYS, where)
    secrets = _secrets(checked.pop("secrets", []), where)
    if "public_url" in checked:
        checked["public_url"] = _public_url(checked["public_url"], where)
    extra = {key: value for key, value in options.items() if key not in _SOURCE_KEYS}
    return SourceSettings(name=name, secrets=secrets, options=extra, described=described, **checked)


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


def _public_url(text: str, where: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(
            f"{where}public_url must be all of the address that the sender was given, without its query, "
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
        if key not in _SOURCE_KEYS and key not in own and (hint := nearest(key, _SOURCE_KEYS)):
            raise ConfigError(f"{where}there is no key {key!r}{hint}")


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing when no known word is close."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=_MISTAKES)
    return f"; did you mean {found[0]!r}?" if found else ""


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
        raise ConfigError(f"{file.name}: not valid TOML: {error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file.name}: not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{file.name}: cannot be read: {error.strerror}") from None


def _environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """LANDFAST_PORT and the like, by key, as the types that the keys take. Others are not ours to judge."""
    found: dict[str, Any] = {}
    for key, rule in _KEYS.items():
        name = f"LANDFAST_{key.upper()}"
        text = environ.get(name)
        if text is None or (text == "" and rule.kind is not str):
            continue
        try:
            found[key] = rule.kind(text)
        except ValueError:
            raise ConfigError(
                f"{name}: {text!r} is not a number; set it to one, such as {rule.example}, or unset it"
            ) from None
    return found


def _checked(values: Mapping[str, Any], rules: Mapping[str, _Key], where: str) -> dict[str, Any]:
    checked = {}
    for key, value in values.items():
        name = f"{where}{key.upper()}" if where == "LANDFAST_" else f"{where}{key}"
        rule = rules.get(key)
        if rule is None:
            known = [*rules, "sources", "providers"] if rules is _KEYS else [*rules]
            hint = nearest(key, known) or f"; the keys are {', '.join(known)}"
            raise ConfigError(f"{where}there is no key {key!r}{hint}")
        if value is None:  # TOML has none: an argument that was not given
            continue
        checked[key] = _value(name, value, rule)
    return checked


def _value(name: str, value: Any, rule: _Key) -> Any:
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
    if isinstance(value, int | float) and not rule.least <= value <= rule.most:
        raise ConfigError(f"{name} is {value}; it must be from {rule.least:g} to {rule.most:g}")
    return value


def _address(name: str, text: str, folder: Path, where: str) -> Address:
    origin = f"{where}{name.upper()}" if where == "LANDFAST_" else where.removesuffix(": ")
    if text.startswith(POSTGRES):
        try:
            urlsplit(text).port  # noqa: B018 - reading it is what checks it
        except ValueError:
            raise ConfigError(f"{name}: the PostgreSQL address is malformed; check its host and port") from None
        return Address(text, origin)
    scheme, colon, rest = text.partition(":")
    if colon and scheme != "sqlite":
        # The rest may hold a password: only the scheme is repeated.
        raise ConfigError(f"{name}: {scheme!r} is no kind of database; use sqlite:PATH or postgresql://...")
    path = rest.removeprefix("//") if colon else text
    if not path:
        raise ConfigError(f"{name}: sqlite: needs a path, such as sqlite:landfast.db")
    return Address(str(folder / path), origin)


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
    store = found.setdefault("store", Address(str(folder / "landfast.db")))
    default = str(Path(store.target).parent / "landfast-ledger.db") if store.is_sqlite else store.target
    ledger = found.setdefault("ledger", Address(default, "it follows store"))
    if store.is_sqlite and ledger.is_sqlite and Path(store.target).resolve() == Path(ledger.target).resolve():
        raise ConfigError("ledger: it is the store's own file; on SQLite they must be two files")
    if ledger.is_sqlite:
        for key in ("hands", "workers"):
            if found.get(key, 1) > 1:
                raise ConfigError(
                    f"{key} is {found[key]}, but a SQLite ledger has one writer; set it to 1, or use PostgreSQL"
                )
    found.setdefault("hands", 1 if ledger.is_sqlite else 8)
    return Settings(**found, sources=MappingProxyType(sources), providers=MappingProxyType(providers), folder=folder)
