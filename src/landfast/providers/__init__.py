"""How each kind of sender signs and names what it sends: declarative profiles, and the few schemes they use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from landfast.domain.errors import ConfigError
from landfast.providers import generic
from landfast.providers.catalogue import PROFILES
from landfast.providers.profile import Profile

__all__ = ["Profile", "names", "provider"]


def provider(
    name: str, *, dedup: str | None = None, dedup_key: str | None = None, ordered_by: str | None = None, **options: Any
) -> Profile:
    """The provider of this name, with the source's own choices: what makes two deliveries one event (see `dedup`), the
    key of the rule `hmac:`, and which field names the entity. Only `generic` takes further options."""
    profile = _named(name, options)
    return replace(
        profile,
        key=profile.key if dedup is None else dedup,
        hmac_key=profile.hmac_key if dedup_key is None else dedup_key,
        entity=profile.entity if ordered_by is None else ordered_by,
    )


def names() -> Sequence[str]:
    return (*PROFILES, generic.NAME)


def _named(name: str, options: dict[str, Any]) -> Profile:
    if name == generic.NAME:
        return generic.described(options)
    if name not in PROFILES:
        nearest = get_close_matches(name.lower(), names(), n=1, cutoff=0.5)
        hint = f"did you mean {nearest[0]!r}?" if nearest else f"there are {', '.join(names())}"
        raise ConfigError(f"there is no provider {name!r}: {hint}")
    if options:
        raise ConfigError(f"the provider {name!r} takes no option {next(iter(options))!r}: only generic has options")
    return PROFILES[name]
