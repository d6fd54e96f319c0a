"""The ledger in a SQLite file, through the standard library: it is the user's file."""

from __future__ import annotations

from landfast.ledgers.sqlite.ledger import SqliteLedger

__all__ = ["SqliteLedger"]
