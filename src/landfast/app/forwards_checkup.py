"""The checkup of targets: is there a secret, has the name an address, and may that be connected to? Nothing is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from landfast.domain.errors import ConfigError
from landfast.forwarding.forward import Target
from landfast.recovery.doctor import Check, Level

RESOLVE_SECONDS = 5.0
"""For a name server's answer."""


async def examine_targets(targets: Iterable[Target]) -> Sequence[Check]:
    return [await _examined(target) for target in targets]


async def _examined(target: Target) -> Check:
    name = f"forward {target.name}"
    try:
        keys = target.keys()
    except ConfigError as error:
        return Check(name, Level.FAIL, str(error).removeprefix(f"{name}: "))
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            objections = await target.objections()
    except (OSError, TimeoutError) as error:
        found = f"{target.host} has no address ({type(error).__name__}): its events wait"
        return Check(name, Level.WARN, found, "correct its url, or its entry in the name server")
    if objections:
        found = f"{target.host} is not connected to: {'; '.join(objections)}"
        return Check(name, Level.FAIL, found, "name the address in allow if it is meant, or correct url")
    count = f"{len(keys)} {'secret' if len(keys) == 1 else 'secrets'}"
    if urlsplit(target.url).scheme == "http" and target.host not in {"localhost", "127.0.0.1", "::1"}:
        found = f"to {target.host} over plain HTTP, {count}: who is on the way can read it"
        return Check(name, Level.WARN, found, "write https in its url")
    return Check(name, Level.OK, f"to {target.host}, {count}")
