"""Numbers that JSON has: Python would write `Infinity`, which no strict reader takes, jq and browsers included."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def finite(value: Any) -> Any:
    """The same with null in the place of what is no number: a time that is longer than all that are told apart, say."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(below) for name, below in value.items()}
    return [finite(below) for below in value] if isinstance(value, list | tuple) else value
