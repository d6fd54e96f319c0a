"""Between the domain's values and MySQL's rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from landfast import sqlfiles
from landfast.domain.effect import EffectSettlement, StagedEffect
from landfast.domain.errors import UserError
from landfast.domain.micros import micros_in
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.domain.text import storable
from landfast.ledgers import rows as shared

SQL = sqlfiles.statements("landfast.ledgers.mysql")

NAME_AT_MOST = 500
"""Characters of a handler's or an effect's name, as the columns have it: InnoDB takes 3,072 bytes as a key."""

_EACH = re.compile(r"-- for each\n(.*?)\n(?:-- so far\n|\Z)", re.DOTALL)
_PLACE = re.compile(r"%\((\w+)\)s")

Values = Mapping[str, Any]


def for_each(name: str, rows: Sequence[Values]) -> tuple[str, dict[str, Any]]:
    """A statement of ours with its part `for each` written once for each row, and the values of all of them."""
    before, part, after = _EACH.split(SQL[name], maxsplit=1)
    parts = [_PLACE.sub(rf"%(\1_{number})s", part.strip()) for number in range(len(rows))]
    values = {f"{key}_{number}": value for number, row in enumerate(rows) for key, value in row.items()}
    return f"{before}{', '.join(parts)}\n{after}", values


def key(of: ReceiptKey) -> dict[str, Any]:
    return {"digest": of.digest, "handler": name(of.handler), "run": of.run}


def receipt(of: Receipt) -> dict[str, Any]:
    return key(of.key) | {"outcome": of.outcome.value, "result": of.result}


def result(of: ReceiptKey, value: bytes) -> dict[str, Any]:
    return key(of) | {"result": value}


def staged(effect: StagedEffect) -> dict[str, Any]:
    return {
        "key": effect.key,
        "run": effect.run,
        "name": name(effect.name),
        "arguments": effect.arguments,
        "context": effect.context,
        "digest": effect.digest,
        "handler": name(effect.handler),
        "state": effect.begins.value,
        "due_in": None if effect.due_in is None else micros_in(effect.due_in),
        "waits": len(effect.step.after),
        "step": shared.step_column(effect.step),
    }


def waits(effects: Sequence[StagedEffect]) -> list[dict[str, Any]]:
    return [{"key": effect.key, "run": effect.run, "awaited": key} for effect in effects for key in effect.awaits]


def settlement(of: EffectSettlement) -> dict[str, Any]:
    return {
        "key": of.key,
        "run": of.run,
        "token": of.token,
        "state": of.state.value,
        "keeps": of.keeps_tries,
        "over": of.is_over,
        "due": micros_in(of.due_in),
        "count": of.tries.count,
        "spent": of.tries.spent,
        "unknown": of.unknown_seconds,
        "error": storable(of.error),
        "message": storable(of.message),
        "trace": storable(of.trace),
        "result": of.result,
    }


def name(given: str) -> str:
    """Refused here: a server that is not strict would cut it off, and two names would share a receipt."""
    if len(given) > NAME_AT_MOST:
        raise UserError(f"the name {given[:40]!r}... has more than {NAME_AT_MOST} characters; give it a shorter name=")
    return str(given)
