"""What the rest of Landfast asks about a ledger on Django before anything is opened."""

from __future__ import annotations

from typing import Any

from landfast.ledgers.django.databases import alias_of, vendor_of
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import Ledger
from landfast.sealing import Seal


def driver_of(target: str) -> dict[str, Any]:
    """The fields of its LedgerDriver: they depend on the database behind the alias."""
    is_sqlite = vendor_of(target) == "sqlite"
    return {"title": "Django SQLite" if is_sqlite else "Django", "make": _make, "has_one_writer": is_sqlite}


def _make(
    target: str,
    *,
    clock: Clock,
    chance: Chance,
    seal: Seal | None,
    concurrency: int,  # noqa: ARG001 - each hand has a thread, and so a connection, when it needs one
    named: str,
) -> Ledger:
    from landfast.ledgers.django.inline import inline_ledger, is_inline
    from landfast.ledgers.django.ledger import DjangoPostgresLedger, DjangoSqliteLedger

    if is_inline(alias_of(target)):
        return inline_ledger(alias_of(target), clock=clock, chance=chance, seal=seal)
    kind = DjangoSqliteLedger if vendor_of(target) == "sqlite" else DjangoPostgresLedger
    return kind(alias_of(target), clock=clock, chance=chance, named=named, seal=seal)
