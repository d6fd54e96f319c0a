"""Effects as operators see them, and what they do about dead ones."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from landfast.domain.effect import EffectState
from landfast.domain.errors import UserError
from landfast.domain.ids import InboxId, receipt_digest
from landfast.domain.operator_log import Action
from landfast.operations.effect_graph import runs_of
from landfast.operations.operator_log import audited
from landfast.ports.inbox import Inbox
from landfast.ports.ledger import EffectStore, Ledger
from landfast.processing.effects.settlements import TIMED_OUT
from landfast.processing.handlers.results import RESULT_BYTES_AT_MOST

RETRIED_AT_ONCE = 1000
"""Effects made ready in one transaction of the ledger."""

NODES_AT_MOST = 10_000
"""As many as an event may stage."""

LOOKED_AT = 10_000
"""Effects among which a key is looked for, newest first: they are read within a second."""

PREFIX_AT_LEAST = 6
"""Characters of a key that is not given whole: as of an event's id."""


async def listed(
    ledger: Ledger, identity: InboxId, *, state: EffectState | None, limit: int
) -> Sequence[dict[str, Any]]:
    """Newest first. Each that waits for others with the names of those, dead ones alone if there are any."""
    rows = await ledger.list(state=state, limit=limit)
    waiting = [json.loads(row["context"]) for row in rows if row["state"] is EffectState.WAITING]
    events = {(event.get("source", ""), event.get("key", "")) for event in waiting}
    told: dict[tuple[str, int], str] = {}
    for source, key in sorted(events):
        digest = receipt_digest(identity, source, key)
        for number, nodes in runs_of(await ledger.list(digest=digest, limit=NODES_AT_MOST)).items():
            told |= {(node.row["key"], number): node.told() for node in nodes if node.before}
    return [{**row, "told": told.get((row["key"], row["run"]), str(row["state"]))} for row in rows]


async def retry(
    inbox: Inbox, ledger: EffectStore, names: Sequence[str], *, who: str, why: str
) -> tuple[int, dict[str, EffectState | None]]:
    """Have dead ones performed again, all of them where none is named by its key or the beginning of it. How many, and
    the state of those that were named and are not dead; None: there is none."""
    keys, others = await _named(ledger, names)
    if names and not keys:
        return 0, others
    asked = {"keys": sorted(keys)[:100], "all": not names}
    async with audited(inbox, Action.RETRY_EFFECTS, who=who, why=why, what=asked) as audit:
        # One that was made ready is not dead any more, so each look finds the next ones, until none is left but those
        # that were erased, which stay dead.
        while (chosen := await _dead(ledger, keys)) and (count := await ledger.revive(chosen)):
            audit.counted(count)
    return audit.count, others


async def skip(
    inbox: Inbox, ledger: EffectStore, name: str, *, result: bytes | None, who: str, why: str
) -> tuple[bool, EffectState | None]:
    """Have the steps after a dead one go on without it, as if it had returned this. Whether it was dead, and its state
    otherwise; None: there is none. UserError where they would be given nothing."""
    keys, others = await _named(ledger, [name])
    if not keys:
        return False, others[name]
    (key,) = keys
    dead = [row for row in await ledger.list(state=EffectState.DEAD, limit=LOOKED_AT) if row["key"] == key]
    given = [(int(row["run"]), _instead(row, result)) for row in dead]
    asked = {"key": key, "result": result is not None}
    async with audited(inbox, Action.SKIP_EFFECT, who=who, why=why, what=asked) as audit:
        for run, instead in given:
            audit.counted(int(await ledger.skip(key, run, result=instead)))
    return audit.count > 0, EffectState.DEAD


def given_instead(text: str) -> bytes:
    """What somebody says that a step would have returned, as JSON."""
    try:
        encoded = json.dumps(json.loads(text)).encode()
    except (ValueError, RecursionError):
        raise UserError("result: it is not JSON; give it as '{\"account\": 7}', and a text as '\"text\"'") from None
    if len(encoded) > RESULT_BYTES_AT_MOST:
        raise UserError(f"result: it has {len(encoded)} bytes of JSON; at most {RESULT_BYTES_AT_MOST} are kept")
    return encoded


def why_not_skipped(state: EffectState | None) -> str:
    """Of one that was not."""
    if state is None:
        return "no effect has this key, or one that begins so; see landfast effects list"
    if state is EffectState.DEAD:
        return "it was erased, and those after it with it"
    return f"it is {state}, not dead: only a dead effect can be skipped"


def _instead(row: dict[str, Any], result: bytes | None) -> bytes | None:
    """What those are given that take what it returns."""
    step, name = row["step"], row["step"].named or row["name"]
    if step.arrival is not None:
        if result is not None:
            raise UserError(f"effect {name}: it stands for an event and returns nothing; leave the result out")
        return TIMED_OUT
    if step.gives and result is None:
        raise UserError(
            f"effect {name}: a step after it takes what it returns; say what that is as its result, in JSON"
        )
    return result


async def _named(ledger: EffectStore, names: Sequence[str]) -> tuple[set[str], dict[str, EffectState | None]]:
    """The keys of dead effects that are meant; and of those names that mean none, the state of what they do mean."""
    dead = [row["key"] for row in await ledger.list(state=EffectState.DEAD, limit=LOOKED_AT)] if names else []
    keys: set[str] = set()
    others: dict[str, EffectState | None] = {}
    for name in dict.fromkeys(names):
        found = {key for key in dead if _is_meant(name, key)}
        if len(found) > 1 and name not in found:
            raise UserError(f"effect {name!r}: several dead ones begin so; give more of its key")
        keys |= {name} if name in found else found
        if not found:
            rows = await ledger.list(limit=LOOKED_AT)
            others[name] = next((row["state"] for row in rows if _is_meant(name, row["key"])), None)
    return keys, others


def _is_meant(name: str, key: str) -> bool:
    return key == name or (len(name) >= PREFIX_AT_LEAST and key.startswith(name))


async def _dead(ledger: EffectStore, keys: Collection[str]) -> list[tuple[str, int]]:
    dead = await ledger.list(state=EffectState.DEAD, limit=LOOKED_AT if keys else RETRIED_AT_ONCE)
    return [(row["key"], row["run"]) for row in dead if not keys or row["key"] in keys]
