"""What handlers and effects depend on, by name, and at which rate it may be called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from landfast.domain.errors import ConfigError

FIRST_RATE = 10.0
"""Calls a second to a dependency that has just come back: enough to see whether it stays, and no herd."""

GROWS_EVERY_SECONDS = 1.0
"""The rate doubles so often. In seven seconds it is above a thousand."""

RATE_WITHOUT_CEILING = 1_000.0
"""Calls a second at which a dependency without a ceiling has none again. At this rate its queue comes back."""

RATE_AT_MOST = 100_000.0
"""Calls a second: more than all workers together could make is a typing mistake."""


@dataclass(frozen=True, slots=True)
class Dependency:
    name: str
    rate: float | None = None
    """Calls a second that all workers together begin at most; no limit unless it is set."""

    def rate_after(self, seconds: float) -> float | None:
        """The rate so long after it came back; None for no limit."""
        # The exponent is bounded, because it may have come back a year ago.
        grown = FIRST_RATE * 2 ** min(seconds / GROWS_EVERY_SECONDS, 20)
        if self.rate is None:
            return None if grown >= RATE_WITHOUT_CEILING else grown
        return min(grown, self.rate)


def checked_name(name: object, where: str) -> str:
    """A dependency's name, as a switch, a metric and a command line can hold it."""
    if not isinstance(name, str) or not name or len(name) > 100 or not all(map(_is_plain, name)):
        raise ConfigError(
            f"{where}the dependency's name {name!r} must be letters, digits, '-', '_' or '.', 100 of them at most"
        )
    return name


def checked_uses(uses: object, what: str) -> tuple[str, ...]:
    """What `uses=` was given."""
    if isinstance(uses, str) or not isinstance(uses, Iterable):
        raise ConfigError(f'{what}: uses is {uses!r}; it is a list of names, such as uses=["mailer"]')
    names = tuple(checked_name(name, f"{what}: uses: ") for name in uses)
    if len(set(names)) < len(names):
        raise ConfigError(f"{what}: uses names the same dependency twice; name it once")
    return names


def _is_plain(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character in "-_.")
