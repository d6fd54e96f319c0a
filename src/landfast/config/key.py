"""One key of landfast.toml."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    kind: type
    example: str
    """As it is written in landfast.toml."""
    says: str
    """What it is for: a sentence for somebody who reads it for the first time."""
    least: float = -math.inf
    most: float = math.inf
    one_of: tuple[str, ...] = ()
    default: str = ""
    """In words, where it is more than a value that stands in Settings."""
