"""What a write came to that may have been made before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_WROTE = frozenset({"inserted", "changed", "moved"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """True where something was written."""

    word: str
    """`inserted` or `was there`; `changed`, `same` or `missing`; `moved`, `same`, `illegal` or `missing`."""
    state: Any = None
    """Of a transition that is `same` or `illegal`: the state that the row has."""

    def __bool__(self) -> bool:
        return self.word in _WROTE

    def __str__(self) -> str:
        return f"{self.word} from state {self.state}" if self.word == "illegal" else self.word
