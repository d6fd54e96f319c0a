"""Copies of the user's database to prove handlers on. Theirs is read, and never written."""

from __future__ import annotations

from typing import Protocol

from landfast.proving.hooks.redirect import Redirect
from landfast.proving.tables import Snapshot


class Copies(Protocol):
    notes: list[str]
    """What was not copied."""

    @property
    def redirect(self) -> Redirect:
        """From the real one to the copy of the moment."""
        ...

    async def open(self) -> None:
        """Make the first copy: it is the current one."""
        ...

    async def seal(self) -> None:
        """Whoever uses the current copy has closed it: those to come are made from it as it is now."""
        ...

    async def fresh(self) -> None:
        """Another copy is the current one, as it was when it was sealed. The one before is thrown away."""
        ...

    async def snapshot(self) -> Snapshot:
        """What is in the user's tables of the current one."""
        ...

    async def rewind(self) -> None:
        """Sequences of the current one count from where they did: a rollback does not take their numbers back."""
        ...

    async def is_blocked(self) -> bool:
        """Whether somebody in the current one waits for another's lock."""
        ...

    def address(self) -> str:
        """Of the current one, for a ledger."""
        ...

    async def close(self) -> None:
        """Throw all of it away."""
        ...
