"""The time in a signature: how it is written, and what it says."""

from __future__ import annotations

import re
from typing import Literal

from landfast.domain.body import moment
from landfast.domain.errors import UnverifiedError

Unit = Literal["s", "ms", "iso"]

LONGEST_TIMESTAMP = 15
"""Digits: milliseconds have 13 until the year 2286, and any 15 of them fit a float exactly."""

_is_written_out = re.compile(rb"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:?\d\d)").fullmatch


def seconds_of(timestamp: bytes, unit: Unit) -> float:
    if unit == "iso":
        # As RFC 3339 has it, offset and all: a shorter one could end earlier, and the body begin with its rest.
        at = moment(timestamp.decode("ascii")) if _is_written_out(timestamp) else None
        if at is None:
            raise UnverifiedError("the timestamp is no time that a clock could show")
        return at.timestamp()
    # bytes.isdigit takes ASCII digits only: no sign, no point, no exponent, no Infinity.
    if not timestamp.isdigit() or len(timestamp) > LONGEST_TIMESTAMP:
        raise UnverifiedError("the timestamp is no number that a clock could show")
    return int(timestamp) / 1000 if unit == "ms" else int(timestamp)


def written_time(now: float, unit: Unit) -> str:
    if unit == "iso":
        at = moment(int(now))
        return "" if at is None else at.isoformat().replace("+00:00", "Z")
    return str(int(now * 1000) if unit == "ms" else int(now))
