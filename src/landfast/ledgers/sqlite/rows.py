"""Between the domain's values and SQLite's rows. Every function here runs in a connection's thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from landfast import sqlfiles
from landfast.domain.effect import FREED, WAITS, ClaimedEffect, StagedEffect
from landfast.domain.ids import ReceiptDigest
from landfast.domain.micros import micros_in
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
        "state": effect.begins,
        "starts_at": None if effect.due_in is None else now + micros_in(effect.due_in),
        "waits": len(effect.step.after),
        "step": shared.step_column(effect.step),
        "now": now,
    }


def stage(connection: sqlite3.Connection, effects: Sequence[StagedEffect], now: int) -> None:
    for effect in effects:
        is_new = connection.execute(SQL["effects_stage"], staged(effect, now)).rowcount
        if is_new and effect.awaits:
            waits = [{"key": effect.key, "run": effect.run, "awaited": key} for key in effect.awaits]
            connection.executemany(SQL["waits_stage"], waits)


def free(connection: sqlite3.Connection, done: str, run: int, now: int) -> None:
    """Those that waited for it."""
    named = {"key": done, "run": run}
    states = {"waiting": WAITS, "free": FREED[0], "scheduled": FREED[1], "now": now}
    for later in connection.execute(SQL["steps_after"], named).fetchall():
        connection.execute(SQL["steps_free"], {"key": later["key"], "run": later["run"], **states})
    connection.execute(SQL["waits_end"], named)


def results_for(
    connection: sqlite3.Connection, claimed: Sequence[ClaimedEffect]
) -> dict[tuple[str, int], bytes | None]:
    """What those returned whose results they take."""
    asked = [{"key": key, "run": run} for key, run in shared.takes(claimed)]
    found = [row for each in asked for row in connection.execute(SQL["effects_results"], each)]
    return {(row["key"], row["run"]): row["result"] for row in found}
