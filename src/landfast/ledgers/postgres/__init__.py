"""The ledger in a PostgreSQL database, through asyncpg."""

from __future__ import annotations

from landfast.ledgers.postgres.ledger import PostgresLedger

__all__ = ["PostgresLedger"]
