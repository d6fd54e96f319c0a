"""`[[forward]]`, or what the code says in its place, becomes ForwardSettings."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from landfast.config.checking import checked, networks
from landfast.config.key import Key
from landfast.domain.dependency import checked_name
from landfast.domain.errors import ConfigError

FORWARD_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "name": Key(
            str, '"billing"', "What its receipts are kept under; another name sends everything again.", default="needed"
        ),
        "url": Key(
            str,
            '"https://billing.example.com/hooks"',
            "Where events are sent; `http:` only to what `allow` names.",
            default="needed",
        ),
        "secrets": Key(
            list,
            '["env:BILLING_SECRET"]',
            "What it is signed with, as `whsec_` and base64; each signs, so that one can be replaced.",
            default="needed",
        ),
        "source": Key(str, '"stripe"', "Whose events.", default="needed"),
        "type": Key(str, '"invoice.*"', "Which of them; `*` is any text.", default="all of them"),
        "allow": Key(
            list,
            '["10.20.30.40"]',
            "Addresses and networks of your own that it may be in, as few as will do. Without it, only public addresses"
            " are connected to.",
        ),
        "timeout": Key(float, "10", "Seconds for its whole answer.", 0.1, 300),
        "attempts": Key(int, "20", "How often at most; as long as the backoff says unless it is set.", 1, 1_000_000),
        "concurrency": Key(int, "4", "How many requests at a time from one worker process.", 1, 256),
        "ordered": Key(bool, "true", "Whether events of one entity are sent one after the other, in their order."),
        "uses": Key(
            str,
            '"billing"',
            "The dependency that it is, where several targets are one service: they wait together.",
            default="its name",
        ),
    }
)
_NEEDED = ("name", "url", "source", "secrets")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardSettings:
    name: str
    url: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    """References (`env:NAME`, `file:PATH`) or literals, so never in a repr."""
    source: str
    type: str = "*"
    allow: tuple[str, ...] = ()
    timeout: float = 10.0
    attempts: int | None = None
    concurrency: int | None = None
    ordered: bool = False
    uses: str = ""

    @property
    def dependency(self) -> str:
        return self.uses or self.name


def forward(options: Mapping[str, Any], *, where: str) -> ForwardSettings:
    """The options, checked; `where` begins the sentence about what is wrong with them."""
    known = checked(options, FORWARD_KEYS, where)
    for key in _NEEDED:
        if not known.get(key):
            raise ConfigError(f"{where}{key} is missing; write {key} = {FORWARD_KEYS[key].example}")
    checked_name(known["name"], where)
    if not all(isinstance(each, str) and each for each in known["secrets"]):
        raise ConfigError(f"{where}secrets must be a list of strings, such as {FORWARD_KEYS['secrets'].example}")
    known["allow"] = networks(f"{where}allow", known.get("allow", []))
    known["secrets"] = tuple(known["secrets"])
    made = ForwardSettings(**known)
    checked_name(made.dependency, f"{where}uses: ")
    _check_url(made, where)
    return made


def forwards(given: Any, *, where: str) -> tuple[ForwardSettings, ...]:
    """The tables, checked."""
    if not isinstance(given, Sequence) or not all(isinstance(table, Mapping) for table in given):
        raise ConfigError(f"{where}forward must be a list of tables; write [[forward]] with two brackets")
    found = tuple(forward(table, where=_where(table, number, where)) for number, table in enumerate(given, 1))
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{where}forward {name}: the name is taken; give one of the two another name")
    return found


def _where(table: Mapping[str, Any], number: int, where: str) -> str:
    return f"{where}forward {table.get('name') or number}: "


def _check_url(made: ForwardSettings, where: str) -> None:
    example = FORWARD_KEYS["url"].example
    try:
        parts = urlsplit(made.url)
        is_whole = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0 and not parts.fragment
    except ValueError:
        is_whole = False
    if not is_whole or not made.url.isascii() or any(c.isspace() for c in made.url):
        raise ConfigError(f"{where}url must be the whole address, such as {example}")
    if parts.username or parts.password:
        raise ConfigError(f"{where}url holds a name or password; leave it out, the signature proves who sends")
    if parts.scheme == "http" and not made.allow:
        raise ConfigError(
            f"{where}url is http, which strangers can read; write https, or, if {parts.hostname} is your own, name its"
            f" address in allow and no more than that: {_narrowest(str(parts.hostname))}"
        )
    _check_literal(made, str(parts.hostname), where)


def _narrowest(host: str) -> str:
    try:
        return f'allow = ["{ipaddress.ip_address(host)}"]'
    except ValueError:
        return 'allow = ["127.0.0.1"]' if host == "localhost" else f"such as allow = {FORWARD_KEYS['allow'].example}"


def _check_literal(made: ForwardSettings, host: str, where: str) -> None:
    """An address that is written down is known now. A name is looked up at each try."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return
    if not address.is_global and not any(address in ipaddress.ip_network(network) for network in made.allow):
        raise ConfigError(f'{where}url is {address}, which is not public; write allow = ["{address}"] if it is meant')
