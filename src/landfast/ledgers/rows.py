"""From the rows of any driver to the domain's values: the columns have the same names everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import msgspec

from landfast.domain.effect import ALONE, ClaimedEffect, StagedEffect, Step
from landfast.domain.ids import HandlerName, ReceiptDigest, Token
from landfast.domain.lane import LaneId
from landfast.domain.lane_memory import StateKey
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey, Tries


class Row(Protocol):
    """asyncpg's Record, sqlite3's Row, a dict."""

    def __getitem__(self, name: str, /) -> Any: ...


def receipt_key(row: Row) -> ReceiptKey:
    return ReceiptKey(ReceiptDigest(row["digest"]), HandlerName(row["handler"]), row["run"])


def receipt(row: Row) -> Receipt:
    return Receipt(receipt_key(row), Outcome(row["outcome"]), row["result"])


def states(keys: Sequence[StateKey], found: Iterable[Row]) -> list[str | None]:
    """In the order of the keys. A row without a state was only locked."""
    known = {StateKey(LaneId(row["lane"]), row["machine"]): row["state"] for row in found}
    return [known.get(key) or None for key in keys]


def claimed(row: Row, token: Token) -> ClaimedEffect:
    effect = StagedEffect(
        key=row["key"],
        run=row["run"],
        digest=ReceiptDigest(row["digest"]),
        handler=HandlerName(row["handler"]),
        name=row["name"],
        arguments=row["arguments"],
        context=row["context"],
        step=step(row["step"]),
    )
    return ClaimedEffect(
        effect,
        token,
        Tries(row["tries_count"], row["tries_spent"]),
        suspect=bool(row["suspect"]),
        crashes=row["crashes"],
        unknown_seconds=row["tries_unknown"],
    )


def step(column: bytes | None) -> Step:
    return ALONE if column is None else msgspec.json.decode(column, type=Step)


def step_column(of: Step) -> bytes | None:
    return None if of == ALONE else msgspec.json.encode(of)


def takes(claimed: Iterable[ClaimedEffect]) -> list[tuple[str, int]]:
    """Keys and runs of those whose results they take."""
    found: set[tuple[str, int]] = set()
    for each in claimed:
        for given in (*each.staged.step.inputs.values(), each.staged.step.waited):
            found |= {(key, each.staged.run) for key in ((given,) if isinstance(given, str) else given)}
    return sorted(found)
