"""How long what a source sends is kept: what its settings say, what `[retention]` says, and what its sender needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from landfast.config import RetentionSettings, Settings, SourceSettings
from landfast.domain.errors import ConfigError
from landfast.domain.retention import DAY_SECONDS, Ages

if TYPE_CHECKING:  # imported with the first source
    from landfast.providers import Profile


def default_ages(settings: Settings) -> Ages:
    """Of a source that the settings do not name any more."""
    return _ages(settings.retention, Ages())


def ages_of(source: SourceSettings, profile: Profile, settings: Settings) -> Ages:
    """ConfigError where its memory is shorter than its sender's: what that sends again would be a new event."""
    window, tolerance = profile.redelivery.window or 0.0, source.tolerance or profile.tolerance
    least = max(Ages().memory, window + DAY_SECONDS, tolerance if math.isfinite(tolerance) else 0.0)
    ages = _ages(source.retention, _ages(settings.retention, Ages(memory=least)))
    if ages.memory < window:
        raise ConfigError(
            f"source {source.name}: retention.memory is {ages.memory / DAY_SECONDS:g} days, and {profile.name} sends"
            f' again for {window / DAY_SECONDS:g} days; write memory = "{math.ceil(window / DAY_SECONDS) + 1}d" or more'
        )
    return ages


def _ages(given: RetentionSettings, default: Ages) -> Ages:
    said = {name: getattr(given, name) for name in Ages._fields}
    return default._replace(**{name: seconds for name, seconds in said.items() if seconds is not None})
