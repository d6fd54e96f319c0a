"""Boxes in the values that a ledger stores and gives back: the same on every driver.

Each has a data key of its own in front of it, because a handler's transaction must not wait for a key that another
one has drawn; to overwrite the box is to destroy its key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from landfast.domain.effect import ClaimedEffect, EffectSettlement, StagedEffect
from landfast.domain.errors import MasterKeyMissingError, SealedError
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.domain.text import storable
from landfast.ledgers import rows
from landfast.sealing import Seal
from landfast.sealing.seal import key_in_front


def seal_effects(seal: Seal, effects: Sequence[StagedEffect]) -> Sequence[StagedEffect]:
    if not seal.is_on:
        return effects
    return [replace(each, arguments=seal.alone(each.arguments, _of("arguments", each.key))) for each in effects]


def seal_results(seal: Seal, results: Sequence[tuple[ReceiptKey, bytes]]) -> Sequence[tuple[ReceiptKey, bytes]]:
    return [(key, seal.alone(value, _result(key))) for key, value in results] if seal.is_on else results


def seal_receipts(seal: Seal, receipts: Sequence[Receipt]) -> Sequence[Receipt]:
    """A tombstone's result is its reason, with the message of an error in it."""
    if not seal.is_on or all(each.result is None for each in receipts):
        return receipts
    return [
        each if each.result is None else replace(each, result=seal.alone(each.result, _result(each.key)))
        for each in receipts
    ]


def seal_settlements(seal: Seal, settlements: Sequence[EffectSettlement]) -> Sequence[EffectSettlement]:
    if not seal.is_on:
        return settlements
    return [
        replace(
            each,
            message=seal.text_alone(storable(each.message), _of("message", each.key)),
            trace=seal.text_alone(storable(each.trace), _of("trace", each.key)),
            result=None if each.result is None else seal.alone(each.result, _of("result", each.key)),
        )
        for each in settlements
    ]


def seal_result(seal: Seal, key: str, result: bytes | None) -> bytes | None:
    """What an operator says that an effect returned."""
    return result if result is None or not seal.is_on else seal.alone(result, _of("result", key))


def keys_of(receipts: Iterable[Receipt]) -> list[bytes | None]:
    return [key_in_front(each.result) for each in receipts if each.result is not None]


def keys_of_effects(effects: Iterable[ClaimedEffect]) -> list[bytes | None]:
    return [key_in_front(each.staged.arguments) for each in effects]


def keys_of_listed(found: Iterable[Mapping[str, Any]]) -> list[bytes | None]:
    columns = ("arguments", "message", "trace", "result")
    return [key_in_front(row[name]) for row in found for name in columns if row[name] is not None]


def keys_of_results(results: Iterable[bytes | None]) -> list[bytes | None]:
    return [key_in_front(each) for each in results if each is not None]


def give_results(
    seal: Seal, claimed: Sequence[ClaimedEffect], results: Mapping[tuple[str, int], bytes | None]
) -> list[ClaimedEffect]:
    """Each effect with the results that it takes, opened; as `open_effect` where one does not open."""
    return [_given(seal, each, results) if rows.takes([each]) else each for each in claimed]


def _given(seal: Seal, effect: ClaimedEffect, results: Mapping[tuple[str, int], bytes | None]) -> ClaimedEffect:
    opened: dict[str, bytes | None] = {}
    for key, run in rows.takes([effect]):
        result = opened[key] = results.get((key, run))
        try:
            opened[key] = None if result is None else seal.open_alone(result, _of("result", key))
        except MasterKeyMissingError as error:
            return replace(effect, closed=str(error))
        except SealedError:
            continue
    return replace(effect, results=opened)


def open_receipt(seal: Seal, receipt: Receipt) -> Receipt:
    """What it says decides, and its result is only told: one that does not open is none."""
    if receipt.result is None or key_in_front(receipt.result) is None:
        return receipt
    try:
        return replace(receipt, result=seal.open_alone(receipt.result, _result(receipt.key)))
    except SealedError:
        return replace(receipt, result=None)


def open_effect(seal: Seal, effect: ClaimedEffect) -> ClaimedEffect:
    """One that does not open fails when its arguments are read, alone, and its neighbours are performed; one that needs
    another master key waits for a worker that has it."""
    staged = effect.staged
    if key_in_front(staged.arguments) is None:
        return effect
    try:
        arguments = seal.open_alone(staged.arguments, _of("arguments", staged.key))
    except MasterKeyMissingError as error:
        return replace(effect, closed=str(error))
    except SealedError:
        return effect
    return replace(effect, staged=replace(staged, arguments=arguments))


def open_listed(seal: Seal, row: dict[str, Any]) -> dict[str, Any]:
    told = {name: _told(seal, row[name], _of(name, row["key"])) for name in ("message", "trace")}
    try:
        arguments = seal.open_alone(row["arguments"], _of("arguments", row["key"]))
    except SealedError as error:
        arguments = msgspec.json.encode({"sealed": str(error)})
    return row | told | {"arguments": arguments, "result": _told_result(seal, row)}


def _told_result(seal: Seal, row: Mapping[str, Any]) -> bytes | None:
    if row["result"] is None:
        return None
    try:
        return seal.open_alone(row["result"], _of("result", row["key"]))
    except SealedError as error:
        return msgspec.json.encode({"sealed": str(error)})


def _told(seal: Seal, text: str, about: bytes) -> str:
    try:
        return seal.open_text_alone(text, about)
    except SealedError as error:
        return f"({error})"


def _of(column: str, effect: str) -> bytes:
    """What a box of an effect is bound to: none can be put in the place of another, of the same effect either."""
    return f"{column} {effect}".encode("utf-8", "replace")


def _result(key: ReceiptKey) -> bytes:
    return b"".join((b"result", key.digest, key.run.to_bytes(8), key.handler.encode("utf-8", "replace")))
