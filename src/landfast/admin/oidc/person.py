"""Who somebody is, and which role they have: pure, from the claims of an ID token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from landfast.config.oidc import EVERYBODY, OidcSettings
from landfast.domain.access import Role
from landfast.domain.text import storable

NAME_CHARACTERS = 200

ADDRESS = "email"
"""The claim."""


class Person(msgspec.Struct, frozen=True):
    name: str
    """As the operator log has it: the verified address, or else the subject."""
    role: Role
    until: int
    """Seconds since 1970 at which the session ends."""
    session: str
    """What the operator log calls it."""


def name_of(claims: Mapping[str, Any]) -> str:
    """An address that nobody verified is anybody's: whoever has one is called by the subject."""
    name = _address(claims) or claims.get("sub")
    return storable(name)[:NAME_CHARACTERS] if isinstance(name, str) else ""


def role_of(claims: Mapping[str, Any], settings: OidcSettings) -> Role | None:
    """The highest that it gives; None for nobody who may come in."""
    if settings.domains and not _is_of(claims, settings.domains):
        return None
    values = {EVERYBODY, *_values(claims, settings.claim)}
    given = [role for value, role in settings.roles.items() if value in values]
    return max(given, key=list(Role).index, default=None)


def _is_of(claims: Mapping[str, Any], domains: tuple[str, ...]) -> bool:
    return _address(claims).rpartition("@")[2].lower() in domains


def _address(claims: Mapping[str, Any]) -> str:
    """That was verified; or else none."""
    address = claims.get(ADDRESS)
    return address if isinstance(address, str) and claims.get("email_verified") is True else ""


def _values(claims: Mapping[str, Any], name: str) -> list[str]:
    """Of a claim that is called so; or, with dots, of one inside of objects. At many identity providers anybody writes
    whichever address they like: one that nobody verified gives no role."""
    found: Any = _address(claims) if name == ADDRESS else claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    listed = found if isinstance(found, list) else [found]
    return [value for value in listed if isinstance(value, str) and value != EVERYBODY]
