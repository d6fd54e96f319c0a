"""Which ledger a test writes to. It is never the configured one by accident."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from landfast import config
from landfast.config import Address, Settings
from landfast.domain.errors import ConfigError, UserError
from landfast.testing import django_database
from landfast.testing.same_database import is_same

CONFIGURED = "configured"
"""Says that the inbox's own ledger is a test database already."""
SQLITE = "sqlite"
"""A temporary file, also for an inbox whose own ledger is none."""


def chosen_ledger(settings: Settings, chosen: Any, folder: Path) -> Address:
    """A temporary SQLite file where the inbox's own ledger is SQLite; otherwise what the test says."""
    own = settings.ledger
    if chosen == CONFIGURED:
        return own
    if chosen is None and own.scheme == django_database.SCHEME:
        django_database.check_is_test_database(own.target)
        return own
    if chosen is None and own.scheme != "sqlite":
        raise UserError(
            f"landfast_ledger: the inbox writes to {settings.ledger_driver.title}, and the tests do not say where they"
            " may write; let the fixture landfast_ledger return a test database, or 'configured' if it is one already"
        )
    if chosen is None or chosen == SQLITE:
        return Address(str(folder / "ledger.db"))
    given = _address(chosen, folder)
    if is_same(given, own):
        raise UserError(
            "landfast_ledger: that is the ledger that the inbox is configured with, and a test would write to it;"
            " give the tests a database of their own, or say 'configured' if it is one already"
        )
    return given


def opened_file(ledger: Address) -> sqlite3.Connection:
    """For the test itself, to make tables and to look."""
    if ledger.scheme != "sqlite":
        raise UserError("ledger: this test's is no SQLite file; look at it with a connection of your own")
    connection = sqlite3.connect(ledger.target, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def _address(chosen: Any, folder: Path) -> Address:
    """As `Inbox(ledger=...)` reads it, and nothing else of the settings."""
    empty = folder / "no-settings.toml"
    empty.touch()
    given = str(chosen) if isinstance(chosen, Path) else chosen
    try:
        read = config.load(empty, environ={}, overrides={"store": str(folder / "inbox.db"), "ledger": given})
    except ConfigError as error:
        raise UserError(f"landfast_ledger: {str(error).removeprefix('Inbox(): ')}") from None
    return read.ledger
