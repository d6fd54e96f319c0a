"""A MySQL or MariaDB database of the user's, to be read only. Imported where there is one: it needs PyMySQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pymysql

from landfast.domain.errors import LedgerUnavailableError, UserError
from landfast.domain.ids import ReceiptDigest
from landfast.ledgers.mysql.desk import connect
from landfast.ledgers.mysql.ledger import MysqlLedger
from landfast.operations.duplicates.reader import ANSWER_SECONDS, SQL, Column, Reader, quoted

_SESSION = (
    # Names are quoted, and texts put together, as the statements for all databases do it.
    "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT', time_zone = '+00:00'",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    # One snapshot for all that is counted, and no write is possible in it.
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)


class MysqlReader:
    row_id, text = "", "char"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def exact(self, column: str, kind: str) -> str:
        is_text = any(word in kind for word in ("char", "text", "enum"))
        return f"CAST({column} AS char CHARACTER SET utf8mb4) COLLATE utf8mb4_bin" if is_text else column

    def table(self, name: str) -> str:
        return ".".join(quoted(part) for part in name.split("."))

    async def columns(self, table: str) -> Sequence[Column]:
        *schema, name = table.split(".")
        found = await self._ask(SQL["mysql_columns"], {"schema": ".".join(schema) or None, "name": name})
        return [Column(name, key == "PRI", str(kind).lower()) for name, key, kind in found]

    async def fetch(self, statement: str) -> Sequence[Sequence[Any]]:
        return await self._ask(statement, None)

    async def receipts(self, digests: Sequence[ReceiptDigest]) -> Mapping[bytes, datetime]:
        found = {}
        for digest in digests:
            ((at,),) = await self._ask(SQL["mysql_receipt"], {"digest": bytes(digest)})
            if at is not None:
                found[bytes(digest)] = at.replace(tzinfo=UTC)
        return found

    async def _ask(self, statement: str, values: Mapping[str, Any] | None) -> Sequence[Sequence[Any]]:
        def asked() -> Sequence[Sequence[Any]]:
            with self._connection.cursor() as cursor:
                cursor.execute(statement, values)
                return list(cursor.fetchall())

        return await asyncio.to_thread(asked)


@asynccontextmanager
async def reading(ledger: MysqlLedger) -> AsyncIterator[Reader]:
    options = ledger._desk._options  # noqa: SLF001 - whatever it was derived from
    try:
        connection = await asyncio.to_thread(connect, options, patience=ANSWER_SECONDS, autocommit=True)
    except (OSError, pymysql.Error) as error:
        raise LedgerUnavailableError(f"the ledger's database does not answer: {type(error).__name__}") from None
    try:
        reader = MysqlReader(connection)
        for statement in _SESSION:
            await reader.fetch(statement)
        yield reader
    except pymysql.Error as error:
        raise UserError(
            f"duplicates: MySQL says {error.args[-1]}; name a table and columns that can be compared"
        ) from None
    finally:
        connection.close()
