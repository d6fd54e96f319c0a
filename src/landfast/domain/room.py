"""How much room an inbox takes, and how much there is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Room:
    """In bytes."""

    used: int
    """What the inbox takes on its disk, with its log."""
    free_inside: int = 0
    """Of that, what the next events will use."""
    free: int | None = None
    """On the disk; None where the disk is a server's, which does not tell."""
    gives_back: bool = True
    """Whether what is free inside goes back to the disk by itself."""


@dataclass(frozen=True, slots=True)
class Compacted:
    before: int
    after: int

    @property
    def given_back(self) -> int:
        return max(0, self.before - self.after)
