"""What a user gives in the place of a ledger's address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Brought:
    """An object of the user's in the place of an address, with what they say about it."""

    given: Any
    desk: str | None = None
    """The address of the same database, where the object does not tell it."""
    scoped: Any = None
    """The scoped_session that handlers use without being given one."""
