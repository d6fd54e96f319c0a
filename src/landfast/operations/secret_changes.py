"""Notice that the secrets of sources are others than before. Nobody changes them by a command of ours: they stand in
the settings and the environment, so a process that starts with others says so in the operator log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from landfast.domain.mac import Mac
from landfast.domain.operator_log import Action
from landfast.operations.operator_log import READ_AT_ONCE, audited
from landfast.ports.operator_log import OperatorLog
from landfast.ports.provider import Secret

LINES_LOOKED_AT = 20_000
"""Of the log, newest first. Who changes nothing for longer than that is told once more what is there."""


class KeyedLog(OperatorLog, Protocol):
    async def mac_key(self) -> bytes: ...


async def note_secrets(log: KeyedLog, secrets: Mapping[str, Sequence[Secret]], *, who: str) -> Sequence[str]:
    """Those of these sources whose secrets are others than when somebody last looked; all, the first time. Of another
    application's sources at the same inbox nothing is said, and nothing forgotten."""
    now = fingerprints(await log.mac_key(), secrets)
    before = await _last(log)
    changed = sorted(name for name in now if now[name] != before.get(name))
    if changed:
        what = {"sources": changed, "fingerprints": {**before, **now}}
        async with audited(log, Action.SECRETS, who=who, why="noticed when an intake started", what=what) as audit:
            audit.counted(len(changed))
    return changed


def fingerprints(key: bytes, secrets: Mapping[str, Sequence[Secret]]) -> dict[str, str]:
    """Of each source's secrets together. They tell two apart, and without the inbox's key say nothing about either."""
    mac = Mac(key, purpose=b"secrets")
    return {
        name: mac.tag(name.encode(), *(part for each in given for part in (each.name.encode(), each.key))).hex()
        for name, given in secrets.items()
    }


async def _last(log: OperatorLog) -> Mapping[str, str]:
    before: int | None = None
    for _ in range(LINES_LOOKED_AT // READ_AT_ONCE):
        lines = await log.latest_operations(limit=READ_AT_ONCE, before=before)
        for line in lines:
            if line.entry.action == Action.SECRETS and line.entry.of is None:
                found: Mapping[str, str] = json.loads(line.entry.what).get("fingerprints", {})
                return found
        if not lines:
            break
        before = lines[-1].seq
    return {}
