"""`[admin.oidc]` as it is written becomes OidcSettings: people sign in at an identity provider of yours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from landfast.config.checking import checked
from landfast.config.key import Key
from landfast.domain.access import Role
from landfast.domain.errors import ConfigError

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts that may be spoken to without https: nobody is in between."""

EVERYBODY = "*"
"""In `roles`: whoever the identity provider knows, and `domains` lets in."""

NEEDED = ("issuer", "client_id", "client_secret", "public_url", "roles")

OIDC_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "issuer": Key(
            str,
            '"https://login.example.com"',
            "Who people sign in with; its document is at ISSUER/.well-known/openid-configuration.",
            default="needed",
        ),
        "client_id": Key(str, '"landfast"', "What it calls this dashboard.", default="needed"),
        "client_secret": Key(
            str,
            '"env:LANDFAST_OIDC_SECRET"',
            "What it gave this dashboard to prove itself with: `env:NAME` or `file:PATH`.",
            default="needed",
        ),
        "public_url": Key(
            str,
            '"https://landfast.example.com"',
            "Where browsers reach this dashboard. PUBLIC_URL/sign-in/oidc/callback is the address to register there.",
            default="needed",
        ),
        "roles": Key(
            dict,
            '{ "sre" = "admin", "support" = "operator", "*" = "viewer" }',
            "Which value of the claim gives which role; the highest counts. `*` is everybody.",
            default="needed",
        ),
        "claim": Key(
            str,
            '"groups"',
            "The claim of the ID token that `roles` looks at; `realm_access.roles` goes into an object.",
        ),
        "domains": Key(
            list, '["example.com"]', "Let in only addresses of these domains that the identity provider has verified."
        ),
        "session_minutes": Key(
            int,
            "60",
            "How long a session lasts. Then the browser is sent to the identity provider, which knows it and says what"
            " role it has now: so long does a role count that was taken away there.",
            least=5,
            most=720,
        ),
        "scopes": Key(list, '["groups"]', "What is asked for besides `openid`, `email` and `profile`."),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    issuer: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    """A reference, never in a repr."""
    public_url: str = ""
    roles: Mapping[str, Role] = field(default_factory=dict)
    claim: str = "groups"
    domains: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    session_minutes: int = 60

    @property
    def is_secure(self) -> bool:
        """Whether browsers come over https."""
        return self.public_url.startswith("https://")


def oidc(given: Any, *, where: str) -> OidcSettings | None:
    """The table `[admin]`, checked; `where` begins the sentence about what is wrong with it."""
    if not isinstance(given, Mapping) or not all(isinstance(table, Mapping) for table in given.values()):
        raise ConfigError(f"{where}admin must be a table; write [admin.oidc], and admin_port above the first table")
    for name in given:
        if name != "oidc":
            raise ConfigError(f"{where}admin: there is no key {name!r}; the only one is oidc: write [admin.oidc]")
    if "oidc" not in given:
        return None
    where = f"{where}admin.oidc: "
    known = checked(given["oidc"], OIDC_KEYS, where)
    for key in NEEDED:
        if not known.get(key):
            raise ConfigError(f"{where}{key} is missing; write {key} = {OIDC_KEYS[key].example}")
    if not known["client_secret"].startswith(("env:", "file:")):
        raise ConfigError(f"{where}client_secret must be env:NAME or file:PATH, so that no secret stands in the file")
    for key in ("issuer", "public_url"):
        known[key] = _address(key, known[key], where)
    known["roles"] = MappingProxyType(_roles(known["roles"], where))
    for key in ("domains", "scopes"):
        known[key] = _texts(known.get(key, []), f"{where}{key}", key)
    known["domains"] = tuple(domain.lower().lstrip("@") for domain in known["domains"])
    return OidcSettings(**known)


def is_safe(url: str) -> bool:
    """An address of https; or of this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK))


def _address(key: str, text: str, where: str) -> str:
    if not is_safe(text) or urlsplit(text).query or urlsplit(text).fragment:
        raise ConfigError(f"{where}{key} must be an address with https://, such as {OIDC_KEYS[key].example}")
    return text.rstrip("/") if key == "public_url" else text


def _roles(given: Mapping[str, Any], where: str) -> dict[str, Role]:
    for value, role in given.items():
        if role not in {*Role}:
            raise ConfigError(f"{where}roles: {value!r} has the role {role!r}; it must be one of {', '.join(Role)}")
    return {value: Role(role) for value, role in given.items()}


def _texts(given: list[Any], name: str, key: str) -> tuple[str, ...]:
    if not all(isinstance(each, str) and each and not any(c.isspace() for c in each) for each in given):
        raise ConfigError(f"{name} must be a list of words, such as {OIDC_KEYS[key].example}")
    return tuple(given)
