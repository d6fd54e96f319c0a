"""Between the domain's values and PostgreSQL's arrays and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from landfast import sqlfiles
from landfast.domain.effect import EffectSettlement, StagedEffect
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.domain.text import storable
from landfast.ledgers import rows as shared

SQL = sqlfiles.statements("landfast.ledgers.postgres")

Columns = tuple[list[Any], ...]


def receipt_columns(receipts: Sequence[Receipt]) -> Columns:
    return columns(
        [(each.key.digest, each.key.handler, each.key.run, each.outcome.value, each.result) for each in receipts],
        width=5,
    )


def key_columns(keys: Sequence[ReceiptKey]) -> Columns:
    return columns([(key.digest, key.handler, key.run) for key in keys], width=3)


def result_columns(results: Sequence[tuple[ReceiptKey, bytes]]) -> Columns:
    return columns([(key.digest, key.handler, key.run, value) for key, value in results], width=4)


def effect_columns(effects: Sequence[StagedEffect]) -> Columns:
    return columns(
        [(each.key, each.run, each.name, each.arguments, each.context, each.digest, each.handler) for each in effects],
        width=7,
    )


def step_columns(effects: Sequence[StagedEffect]) -> Columns:
    """Of those that are not plain."""
    return columns(
        [
            (
                each.begins.value,
                each.due_in,
                len(each.step.after),
                shared.step_column(each.step),
            )
            for each in effects
        ],
        width=4,
    )


def wait_columns(effects: Sequence[StagedEffect]) -> Columns:
    return columns([(each.key, each.run, awaited) for each in effects for awaited in each.awaits], width=3)


def settlement_columns(settlements: Sequence[EffectSettlement]) -> Columns:
    return columns(
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
                each.result,
            )
            for each in settlements
        ],
        width=14,
    )


def columns(rows: Sequence[tuple[Any, ...]], *, width: int) -> Columns:
    return tuple(map(list, zip(*rows, strict=True))) if rows else tuple([] for _ in range(width))
