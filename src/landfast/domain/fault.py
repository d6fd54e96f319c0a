"""Whose fault a database error is. Ledgers diagnose their own driver's errors; `processing.judge` decides by this."""

from __future__ import annotations

from enum import Enum, auto


class Fault(Enum):
    OTHER = auto()
    """Not a database error, or one that the handler's data caused: an attempt."""
    CONFLICT = auto()
    """Serialization failure or deadlock (40001, 40P01): run again at once, not an attempt."""
    INFRASTRUCTURE = auto()
    """The database is away, full, read-only or shutting down: no attempt, stop claiming."""
    SCHEMA = auto()
    """A table or column that is not there, in the handler's own SQL: opens that handler's breaker only."""
    OWN_CONNECTION = auto()
    """The handler waits, on a connection of its own, for the very transaction that it runs in: only other code helps,
    as with SCHEMA, and so its breaker opens."""
