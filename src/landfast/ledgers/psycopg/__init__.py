"""A ledger on the user's own pool of psycopg connections."""

from __future__ import annotations

from landfast.ledgers.psycopg.ledger import AsyncPsycopgLedger, BlockingPsycopgLedger

__all__ = ["AsyncPsycopgLedger", "BlockingPsycopgLedger"]
