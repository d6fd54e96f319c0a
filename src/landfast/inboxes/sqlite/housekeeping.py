"""The Store's side: open, close, migrate, and what is wrong with the schema."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing

import apsw

from landfast import sqlfiles
from landfast.domain.errors import ConfigError
from landfast.domain.mac import KEY_BYTES
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import PACKAGE, ask
from landfast.ports.clock import Chance

_UNIQUE = {"identity": "event_id", "work": "event_id", "shelf": "body_seq,event_id", "proof": "proof"}
"""Without these, a duplicate could enter, an event be in two places, or a proof count for two bodies."""


class Housekeeping:
    _file: SqliteFile
    _chance: Chance

    async def open(self) -> None:
        await self._file.open()
        try:
            await self._refuse_newer()
        except BaseException:
            await self._file.close()
            raise

    async def close(self) -> None:
        await self._file.close()

    async def problems(self) -> Sequence[str]:
        hazards, others = await self._examine()
        return [*hazards, *others]

    async def cautions(self) -> Sequence[str]:
        return []

    async def hazards(self) -> Sequence[str]:
        hazards, _ = await self._examine()
        return hazards

    @in_thread
    def _refuse_newer(self) -> None:
        known = len(sqlfiles.migrations(PACKAGE))
        with self._file.reading() as connection:
            version = _version(connection)
        if version > known:
            raise ConfigError(
                f"store: the inbox has schema {version} and this Landfast knows {known}; upgrade Landfast or set "
                "LANDFAST_STORE to another path"
            )

    @in_thread
    def migrate(self) -> Sequence[str]:
        """One transaction under the write lock: a migration that fails, or a crash, leaves the schema as it was."""
        applied = []
        with self._file.writing(durable=True) as connection:
            for migration in sqlfiles.migrations(PACKAGE)[_version(connection) :]:
                with migration.applying("store", apsw.SQLError, apsw.ConstraintError):
                    connection.execute(migration.sql)
                connection.pragma("user_version", migration.number)
                applied.append(migration.label)
            if applied:
                drawn = {"inbox": self._chance.bytes(16), "fingerprint": _fingerprint(connection)}
                ask(connection, "migrate_meta", drawn)
            if any(name.endswith("_mac_key") for name in applied):
                ask(connection, "mac_key_draw", {"drawn": self._chance.bytes(KEY_BYTES)})
        return applied

    @in_thread
    def _examine(self) -> tuple[list[str], list[str]]:
        """What makes it unsafe, and what is wrong besides."""
        hazards = [*_durability_problems(self._file.connection(durable=True))]
        if not self._file.is_in_place():
            hazards.append("the inbox's file was moved or replaced while it was open: put it back, or restart Landfast")
        with self._file.reading() as connection:
            known, applied = sqlfiles.migrations(PACKAGE), range(1, _version(connection) + 1)
            if behind := sqlfiles.behind("store", known, applied):
                return [*hazards, *behind], []
            hazards += _unique_problems(connection)
            if newer := sqlfiles.newer("store", known, applied):
                return hazards, newer
            changed = list(_schema_problems(connection))
            is_vital = bool(changed) and ask(connection, "problems_columns") != _columns_as_made()
        return ([*hazards, *changed], []) if is_vital else (hazards, changed)


def _version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def _fingerprint(connection: apsw.Connection) -> str:
    schema = ask(connection, "problems_schema")
    return hashlib.sha256(repr(schema).encode()).hexdigest()


def _columns_as_made() -> list[tuple[object, ...]]:
    """Of the tables that hold events, as the migrations make them."""
    with closing(apsw.Connection(":memory:")) as connection:
        for migration in sqlfiles.migrations(PACKAGE):
            connection.execute(migration.sql)
        return ask(connection, "problems_columns")


def _unique_problems(connection: apsw.Connection) -> Iterator[str]:
    for table, column in _UNIQUE.items():
        if (column,) not in ask(connection, "problems_unique", {"table": table}):
            yield f"the inbox's table {table} has lost the unique constraint on {column}: restore it before going on"


def _schema_problems(connection: apsw.Connection) -> Iterator[str]:
    try:
        made = ask(connection, "problems_fingerprint")
    except apsw.SQLError as error:
        yield f"the inbox's schema is broken: {error}"
        return
    if made != [(_fingerprint(connection),)]:
        yield "the inbox's schema is not the one that Landfast made: undo what was changed by hand"


def _durability_problems(connection: apsw.Connection) -> Iterator[str]:
    if connection.pragma("synchronous") != 2:
        yield "the inbox's synchronous setting is not FULL: an acknowledged event could be lost"
    if connection.pragma("journal_mode") != "wal":
        yield "the inbox's journal mode is not WAL: run landfast migrate on a local disk"
