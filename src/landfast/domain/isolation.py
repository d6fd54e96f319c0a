"""Isolation levels, by their SQL names."""

from __future__ import annotations

from landfast.domain.errors import ConfigError

LEVELS = ("read committed", "repeatable read", "serializable")


def level(name: str | None) -> str:
    """The level as SQL, one of ours and nothing else: it is written into BEGIN as it is."""
    wanted = (name or LEVELS[0]).replace("_", " ").strip().lower()
    if wanted not in LEVELS:
        raise ConfigError(f"isolation: no level {name!r}; it is one of {', '.join(LEVELS)}")
    return wanted.upper()
