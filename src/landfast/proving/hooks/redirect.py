"""Connections that were meant for the user's database lead to its copy; and what is sent on each is told to the run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from landfast.ledgers import control
from landfast.proving.report import Kind
from landfast.proving.watching import RefusedError, Run, Sent, is_write

Where = Literal["copy", "real", "elsewhere"]

_RECEIPTS = re.compile(r"\blandfast(_ledger\.|_)receipt\b")

POSTGRES_PORT = 5432


@dataclass(slots=True)
class Redirect:
    """From the user's own database to the copy of the moment."""

    file: Path | None = None
    """Of a SQLite ledger."""
    database: str = ""
    port: int = 0
    """Of a PostgreSQL ledger. Its host may have several names; so the port and the database's name decide."""
    copy: str = ""
    """The path, or the database's name."""

    def where_server(self, database: str, port: int) -> Where:
        if not self.database or port != self.port:
            return "elsewhere"
        if database == self.copy:
            return "copy"
        return "real" if database == self.database else "elsewhere"

    def where_file(self, path: Path | None) -> Where:
        if path is None or self.file is None:
            return "elsewhere"
        if self.copy and path == Path(self.copy).resolve():
            return "copy"
        return "real" if path == self.file.resolve() else "elsewhere"


class _State:
    redirect: Redirect | None = None


def redirect() -> Redirect | None:
    """The one of the proof that is under way."""
    return _State.redirect


def set_redirect(found: Redirect | None) -> None:
    _State.redirect = found
    OWN.clear()


OWN: set[int] = set()
"""Connections of the driver's that a receipt was written on: those of the ledger."""


def note_own(connection: object, query: str) -> None:
    if _RECEIPTS.search(query):
        OWN.add(id(connection))


def port_of(address: Any) -> int:
    """Of asyncpg's address: a pair, or the path of a socket whose name ends in the port."""
    if isinstance(address, str):
        ending = address.rpartition(".")[2]
        return int(ending) if ending.isdecimal() else POSTGRES_PORT
    return int(address[1])


def file_of(database: Any, *, is_uri: bool = False) -> Path | None:
    """The file that sqlite3 would open; None for one in memory."""
    text = database.decode() if isinstance(database, bytes) else str(database)
    if text.startswith("file:") and is_uri:
        parts = urlsplit(text)
        if "mode=memory" in parts.query:
            return None
        text = unquote(parts.path)
    if text in {"", ":memory:"}:
        return None
    return Path(text).resolve()


def admit(run: Run, query: str, args: tuple[Any, ...], *, is_own: bool, where: Where) -> Sent | None:
    """A handler is about to send this on a connection. None where it need not be watched. RefusedError where it would
    be written in a database that is no copy."""
    if is_own:
        _count_savepoints(run, query)
        return run.before(query, args)
    if not is_write(query):
        return None
    sent = run.before(query, args, is_outside=True)
    what = f"{sent.shown} is sent on a connection of its own: it stays when the attempt is rolled back"
    run.report(Kind.OUTSIDE_WRITE, what, sent.place)
    if where != "copy":
        run.refused = True
        raise RefusedError("landfast prove: a handler that is proven writes in no database but the copy")
    return sent


def _count_savepoints(run: Run, query: str) -> None:
    verb = control.verb(query)
    if verb == "SAVEPOINT":
        run.savepoints += 1
    elif run.savepoints and verb in {"RELEASE", "ROLLBACK"}:
        run.savepoints -= 1
