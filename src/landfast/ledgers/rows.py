"""From the rows of any driver to the domain's values: the columns have the same names everywhere."""

from __future__ import annotations

from typing import Any, Protocol

from landfast.domain.effect import ClaimedEffect, StagedEffect
from landfast.domain.ids import HandlerName, ReceiptDigest, Token
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey, Tries


class Row(Protocol):
    """asyncpg's Record, sqlite3's Row, a dict."""

    def __getitem__(self, name: str, /) -> Any: ...


def receipt_key(row: Row) -> ReceiptKey:
    return ReceiptKey(ReceiptDigest(row["digest"]), HandlerName(row["handler"]), row["run"])


def receipt(row: Row) -> Receipt:
    return Receipt(receipt_key(row), Outcome(row["outcome"]), row["result"])


def claimed(row: Row, token: Token) -> ClaimedEffect:
    effect = StagedEffect(
        key=row["key"],
        run=row["run"],
        digest=ReceiptDigest(row["digest"]),
        handler=HandlerName(row["handler"]),
        name=row["name"],
        arguments=row["arguments"],
        context=row["context"],
    )
    return ClaimedEffect(
        effect,
        token,
        Tries(row["tries_count"], row["tries_spent"]),
        suspect=bool(row["suspect"]),
        crashes=row["crashes"],
        unknown_seconds=row["tries_unknown"],
    )
