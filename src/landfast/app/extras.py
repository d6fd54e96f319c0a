"""Extras: packages that an installation has only if somebody asked for them."""

from __future__ import annotations

from importlib.util import find_spec

from landfast.config import Settings
from landfast.domain.errors import ConfigError


def check_extras(settings: Settings) -> None:
    """ConfigError if the settings ask for a cache or a broker whose client is not installed."""
    if settings.redis is not None and find_spec("redis") is None:
        raise ConfigError(f"redis: {settings.redis} needs the redis package; install landfast[redis]")
    if settings.journal is not None and find_spec("nats") is None:
        raise ConfigError(f"journal: {settings.journal} needs the nats-py package; install landfast[jetstream]")
