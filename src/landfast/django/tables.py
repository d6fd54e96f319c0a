"""Landfast's tables in the databases that Django migrates: made when `manage.py migrate` is through, and so in every
test database, too. They are no models, so `makemigrations` never sees them."""

from __future__ import annotations

from asgiref.sync import async_to_sync

from landfast.django.discovery import find_inbox
from landfast.domain.errors import LandfastError
from landfast.ledgers.django.inline import inline_ledger


def create_tables(using: str, *, verbosity: int = 1) -> None:
    """Those of the ledger, if it is this database. `landfast migrate` and the first worker make the inbox's."""
    try:
        inbox = find_inbox()
    except LandfastError:
        return  # `manage.py check` says what is wrong, and whoever migrates must be able to
    if inbox.settings.ledger.target != f"django:{using}":
        return
    # On Django's own connection: a test database in memory is on no other.
    applied = async_to_sync(inline_ledger(using, clock=inbox.clock, chance=inbox.chance).migrate)()
    if verbosity > 1:
        for name in applied:
            print(f"  Landfast: applied ledger {name}")  # noqa: T201 - as Django's own commands do
