"""How each kind of sender signs and names what it sends: declarative profiles, and the few schemes they use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from landfast.domain.errors import ConfigError
from landfast.providers import custom, generic
from landfast.providers.catalogue import PROFILES
from landfast.providers.profile import Profile

__all__ = ["Profile", "names", "provider"]

ENTRY_POINTS = "landfast.providers"
"""Under this group another package names its own profiles."""


def provider(
    name: str,
    *,
    dedup: str | None = None,
    dedup_key: str | None = None,
    ordered_by: str | None = None,
    described: Mapping[str, Any] | None = None,
    **options: Any,
) -> Profile:
    """The provider of this name, with the source's own choices: what makes two deliveries one event (see `dedup`), the
    key of the rule `hmac:`, and which field names the entity. `described` is the user's own table for it. Of further
    options, `generic` takes those that describe it, and every other provider the settings that it names."""
    profile = _named(name, described, options)
    return replace(
        profile,
        key=profile.key if dedup is None else dedup,
        hmac_key=profile.hmac_key if dedup_key is None else dedup_key,
        entity=profile.entity if ordered_by is None else ordered_by,
    )


def names() -> Sequence[str]:
    return (*PROFILES, generic.NAME)


def _named(name: str, table: Mapping[str, Any] | None, options: dict[str, Any]) -> Profile:
    if name == generic.NAME:
        return generic.described(options)
    if table is not None:
        profile: Profile | None = custom.described(name, table)
    else:
        profile = PROFILES.get(name) or _brought(name)
    if profile is None:
        nearest = get_close_matches(name.lower(), names(), n=1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else f"describe it as [providers.{name}] in landfast.toml"
        raise ConfigError(f"there is no provider {name!r}: {hint}")
    return replace(profile, given=_given(profile, options))


def _given(profile: Profile, options: dict[str, Any]) -> Mapping[str, str]:
    """The source's values for what the provider asks of it."""
    known = {setting.removesuffix("?") for setting in profile.settings}
    known |= {"environment"} if profile.environments else set()
    for option, value in options.items():
        if option not in known:
            asked = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            raise ConfigError(f"the provider {profile.name!r} takes no option {option!r}: {asked}")
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f"the provider {profile.name!r} needs {option} as text, and it is empty or none")
        if option == "environment" and profile.environments and value not in profile.environments:
            known_ones = " or ".join(profile.environments)
            raise ConfigError(f"environment is {value!r}; {profile.name} has {known_ones}")
    return dict(options)


@cache
def _brought(name: str) -> Profile | None:
    """A profile of another package."""
    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            profile = point.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"the entry point {name!r} of {ENTRY_POINTS} cannot be loaded: {error}") from None
        if not isinstance(profile, Profile):
            raise ConfigError(f"the entry point {name!r} of {ENTRY_POINTS} must be a landfast.providers.Profile")
        return profile
    return None
