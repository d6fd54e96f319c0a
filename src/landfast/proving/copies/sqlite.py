"""Copies of a SQLite file: all of it, by SQLite's own backup."""

from __future__ import annotations

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from landfast.domain.errors import ConfigError
from landfast.proving.hooks.redirect import Redirect
from landfast.proving.tables import Snapshot, Table

ROWS_AT_MOST = 20_000
"""Rows of a table that is compared: more would take longer than the handler."""

_connect: Callable[..., sqlite3.Connection] = sqlite3.connect  # before anybody redirects it
_CHOSEN = re.compile(r"\(|CURRENT_(TIME|DATE)", re.IGNORECASE)


class SqliteCopies:
    """Copies of one file."""

    def __init__(self, real: Path) -> None:
        self._real = real
        self._folder = Path(tempfile.mkdtemp(prefix="landfast-prove-"))
        self._sealed = self._folder / "sealed.db"
        self._current = self._folder / "copy-0.db"
        self._count = 0
        self.notes: list[str] = []

    @property
    def redirect(self) -> Redirect:
        return Redirect(file=self._real, copy=str(self._current))

    async def open(self) -> None:
        if self._real.exists():
            _back_up(self._real, self._current)

    async def seal(self) -> None:
        _back_up(self._current, self._sealed)

    async def fresh(self) -> None:
        _remove(self._current)
        self._count += 1
        self._current = self._folder / f"copy-{self._count}.db"
        shutil.copyfile(self._sealed, self._current)

    async def snapshot(self) -> Snapshot:
        with closing(_connect(f"file:{self._current}?mode=ro", uri=True)) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            return _snapshot(connection)

    async def rewind(self) -> None:
        """A rollback takes everything back."""

    async def is_blocked(self) -> bool:
        return True  # there is one writer: whoever is not at work waits

    def address(self) -> str:
        return str(self._current)

    async def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _back_up(source: Path, target: Path) -> None:
    try:
        with closing(_connect(f"file:{source}?mode=ro", uri=True)) as read, closing(_connect(target)) as written:
            read.backup(written)
    except sqlite3.Error as error:
        raise ConfigError(f"prove: {source} cannot be copied ({error})") from error


def _remove(file: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(f"{file}{ending}").unlink(missing_ok=True)


def _snapshot(connection: sqlite3.Connection) -> Snapshot:
    tables: dict[str, Table] = {}
    uncounted = []
    listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    names = [name for (name,) in listed.fetchall() if not name.startswith("landfast_")]
    volatile = _volatile(connection, names)
    for name in names:
        (count,) = connection.execute(f"SELECT count(*) FROM {_quoted(name)}").fetchone()  # noqa: S608 - quoted
        if count > ROWS_AT_MOST:
            uncounted.append(name)
            tables[name] = Table(("rows",), ((count,),))
            continue
        found = connection.execute(f"SELECT * FROM {_quoted(name)}")  # noqa: S608 - quoted
        columns = tuple(each[0] for each in found.description)
        tables[name] = Table(columns, tuple(found.fetchall()), frozenset(volatile.get(name, ())))
    return Snapshot(tables, tuple(uncounted))


def _volatile(connection: sqlite3.Connection, names: list[str]) -> dict[str, set[str]]:
    """Columns that SQLite numbers or fills in, and those that refer to them."""
    found: dict[str, set[str]] = {}
    for name in names:
        columns = connection.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
        keys = [each for each in columns if each[5]]
        numbered = {each[1] for each in keys if len(keys) == 1 and str(each[2]).upper() == "INTEGER"}
        filled = {each[1] for each in columns if each[4] is not None and _CHOSEN.search(str(each[4]))}
        found[name] = numbered | filled
    for name in names:
        for link in connection.execute(f"PRAGMA foreign_key_list({_quoted(name)})").fetchall():
            target, column, referred = link[2], link[3], link[4]
            if referred in found.get(target, ()) or (referred is None and found.get(target)):
                found[name].add(column)
    return found


def _quoted(name: Any) -> str:
    return '"' + str(name).replace('"', '""') + '"'
