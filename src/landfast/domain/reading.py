"""What a declaration reads of an event: a field of its data, by its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from landfast.domain.lane import LanePlace
from landfast.domain.micros import micros

NAME_CHARACTERS = 500
"""Of an entity. What is longer is a text, and no name."""

_MIDDLE = 2**127
"""Half of what 16 bytes hold: versions below it are negative."""

_TOO_LARGE = Decimal(10**33)
"""Beyond what 16 bytes hold in millionths. `1e999990` has eight characters, and takes a minute to become an int."""


def is_path(given: object) -> bool:
    """Whether it can be one for `field_at`. `$.data` of other tools, or a space at an end, would find nothing, ever."""
    return isinstance(given, str) and all(part == part.strip() and part not in ("", "$") for part in given.split("."))


def field_at(data: Any, path: str) -> Any:
    """`data.object.id`: names of fields, and numbers of items. None where there is nothing."""
    for part in path.split("."):
        if isinstance(data, Mapping):
            data = data.get(part)
        elif isinstance(data, Sequence) and not isinstance(data, str | bytes) and part.isdecimal():
            data = data[int(part)] if int(part) < len(data) else None
        else:
            return None
    return data


def name_in(value: object) -> str | None:
    """As the name of an entity or a state: text, or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and 0 < len(value) <= NAME_CHARACTERS else None


def version_place(value: object) -> LanePlace | None:
    """A version as 16 bytes that sort as versions do: a number, or a time in ISO 8601. None for what is neither."""
    number = _number(value)
    if number is None or not -_MIDDLE <= number < _MIDDLE:
        return None
    return LanePlace((number + _MIDDLE).to_bytes(16, "big"))


def _number(value: object) -> int | None:
    """In millionths, so that numbers with and without a fraction compare."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
        return int(number * 1_000_000) if -_TOO_LARGE < number < _TOO_LARGE else None
    except (ArithmeticError, ValueError):  # what a Decimal raises is not the builtin OverflowError
        pass
    try:
        moment = datetime.fromisoformat(str(value))
        return micros(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
