"""Between the domain's values and SQLite's rows. Every function here runs in a connection's thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from landfast import sqlfiles
from landfast.domain.effect import StagedEffect
from landfast.domain.ids import ReceiptDigest
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.ledgers import boxes
from landfast.ledgers import rows as shared
from landfast.sealing import Seal, StoreKey

T = TypeVar("T")

SQL = sqlfiles.statements("landfast.ledgers.sqlite")


def atomically(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    """All of it in one transaction of our own, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        answer = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise
    return answer


def roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def insert_receipts(connection: sqlite3.Connection, receipts: Sequence[Receipt], now: int) -> set[ReceiptKey]:
    return {
        receipt.key
        for receipt in receipts
        if connection.execute(
            SQL["receipts_insert"],
            key(receipt.key) | {"outcome": receipt.outcome, "result": receipt.result, "now": now},
        ).rowcount
    }


def read_receipts(connection: sqlite3.Connection, digests: Sequence[ReceiptDigest], seal: Seal) -> list[Receipt]:
    asked = [{"digest": digest} for digest in digests]
    found = [shared.receipt(row) for each in asked for row in connection.execute(SQL["receipts_read"], each)]
    learn_store_keys(connection, seal, boxes.keys_of(found))
    return [boxes.open_receipt(seal, receipt) for receipt in found]


def add_store_key(connection: sqlite3.Connection, seal: Seal) -> None:
    """In the transaction that stores what is sealed: a ledger that was restored from a copy may have lost it."""
    if seal.store_key is not None:
        connection.execute(SQL["store_key_add"], seal.store_key._asdict())


def learn_store_keys(connection: sqlite3.Connection, seal: Seal, data_keys: Iterable[bytes | None]) -> None:
    if seal.lacks(data_keys):
        seal.learn(store_keys(connection))


def store_keys(connection: sqlite3.Connection) -> list[StoreKey]:
    return [StoreKey(*row) for row in connection.execute(SQL["store_keys"])]


def key(of: ReceiptKey) -> dict[str, Any]:
    return {"digest": of.digest, "handler": of.handler, "run": of.run}


def result(of: ReceiptKey, value: bytes) -> dict[str, Any]:
    return key(of) | {"result": value}


def staged(effect: StagedEffect, now: int) -> dict[str, Any]:
    return {
        "key": effect.key,
        "run": effect.run,
        "name": effect.name,
        "arguments": effect.arguments,
        "context": effect.context,
        "digest": effect.digest,
        "handler": effect.handler,
        "now": now,
    }
