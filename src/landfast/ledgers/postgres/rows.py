"""Between the domain's values and PostgreSQL's arrays and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from landfast import sqlfiles
from landfast.domain.effect import ClaimedEffect, EffectSettlement, StagedEffect
from landfast.domain.ids import HandlerName, ReceiptDigest, Token
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey, Tries
from landfast.domain.text import storable

if TYPE_CHECKING:
    from asyncpg import Record

SQL = sqlfiles.statements("landfast.ledgers.postgres")

Columns = tuple[list[Any], ...]


def receipt_columns(receipts: Sequence[Receipt]) -> Columns:
    return _columns(
        [(each.key.digest, each.key.handler, each.key.run, each.outcome.value, each.result) for each in receipts],
        width=5,
    )


def key_columns(keys: Sequence[ReceiptKey]) -> Columns:
    return _columns([(key.digest, key.handler, key.run) for key in keys], width=3)


def result_columns(results: Sequence[tuple[ReceiptKey, bytes]]) -> Columns:
    return _columns([(key.digest, key.handler, key.run, value) for key, value in results], width=4)


def effect_columns(effects: Sequence[StagedEffect]) -> Columns:
    return _columns(
        [(each.key, each.run, each.name, each.arguments, each.context, each.digest, each.handler) for each in effects],
        width=7,
    )


def settlement_columns(settlements: Sequence[EffectSettlement]) -> Columns:
    return _columns(
        [
            (
                each.key,
                each.run,
                each.token,
                each.state.value,
                each.is_over,
                each.keeps_tries,
                each.due_in,
                each.tries.count,
                each.tries.spent,
                each.unknown_seconds,
                storable(each.error),
                storable(each.message),
                storable(each.trace),
            )
            for each in settlements
        ],
        width=13,
    )


def receipt_key(row: Record) -> ReceiptKey:
    return ReceiptKey(ReceiptDigest(row["digest"]), HandlerName(row["handler"]), row["run"])


def receipt(row: Record) -> Receipt:
    return Receipt(receipt_key(row), Outcome(row["outcome"]), row["result"])


def claimed(row: Record, token: Token) -> ClaimedEffect:
    effect = StagedEffect(
        key=row["key"],
        run=row["run"],
        digest=ReceiptDigest(row["digest"]),
        handler=HandlerName(row["handler"]),
        name=row["name"],
        arguments=row["arguments"],
        context=row["context"],
    )
    tries = Tries(row["tries_count"], row["tries_spent"])
    return ClaimedEffect(
        effect,
        token,
        tries,
        suspect=row["suspect"],
        crashes=row["crashes"],
        unknown_seconds=row["tries_unknown"],
    )


def _columns(rows: Sequence[tuple[Any, ...]], *, width: int) -> Columns:
    return tuple(map(list, zip(*rows, strict=True))) if rows else tuple([] for _ in range(width))
