"""The driver's SQL, read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from landfast import sqlfiles

PACKAGE = "landfast.inboxes.sqlite"

SQL = sqlfiles.statements(PACKAGE)


def ask(connection: apsw.Connection, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
    """Run a statement by its file's name; every row that it answers with."""
    return connection.execute(SQL[statement], values).fetchall()
