"""What a profile must not say."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from landfast.domain.errors import ConfigError

if TYPE_CHECKING:
    from landfast.providers.profile import Profile

REFUSALS = frozenset([498, *(status.value for status in HTTPStatus if status >= 400)])
"""498 is in no RFC, and GoCardless asks for it."""


def check_profile(profile: Profile, places: Sequence[str]) -> None:
    """After everything is derived from it; `places` are those that it reads, but for its key's."""
    named = f"the provider {profile.name!r}"
    if profile.refusal not in REFUSALS:
        raise ConfigError(f"{named} has refusal {profile.refusal}; it must be an HTTP error, 400 to 599")
    if profile.items is not None and profile.signs_once:
        raise ConfigError(f"{named} has items, and a proof that counts for one body only")
    if profile.items is None and ("item:" in profile.key or any("item:" in place for place in places)):
        raise ConfigError(f"{named} reads item: and has no items; say where they stand")
