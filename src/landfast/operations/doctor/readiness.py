"""What the running intakes say of themselves, asked at the addresses that their heartbeats name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from landfast.domain.rates import Heartbeat
from landfast.recovery.doctor import Check, Level

Ask = Callable[[str], Awaitable[tuple[int, Mapping[str, Any]]]]
"""Asks `/ready` at an address: status and answer. OSError or TimeoutError where nobody answers."""

ASKED_AT_MOST = 10
"""Intakes that are asked, one for each address."""

WILDCARDS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - read here, not listened on


async def examine_readiness(processes: Sequence[Heartbeat], ask: Ask, *, host: str) -> Sequence[Check]:
    """Of each address once: the intakes of a machine share one. Also of those that fell silent: an inbox that cannot be
    written to keeps their heartbeats away."""
    asked = {_address(one, host): one for one in processes if one.role == "intake" and one.doing.get("address")}
    return [await _ask(address, one, ask) for address, one in list(asked.items())[:ASKED_AT_MOST]]


def _address(one: Heartbeat, host: str) -> str:
    scheme, _, place = str(one.doing["address"]).partition("://")
    name, _, port = place.rpartition(":")
    if name in WILDCARDS:
        name = WILDCARDS[name] if one.host == host else one.host
    return f"{scheme}://{name}:{port}/ready"


async def _ask(address: str, one: Heartbeat, ask: Ask) -> Check:
    name = f"intake {address}"
    try:
        status, answer = await ask(address)
    except (OSError, TimeoutError, ValueError) as error:
        level = Level.WARN if one.is_alive else Level.OK
        told = type(error).__name__
        found = f"does not answer from here ({told}), and {'is alive by its heartbeat' if one.is_alive else 'is gone'}"
        return Check(name, level, found, "ask it from its own machine: curl .../ready" if one.is_alive else "")
    layers = ", ".join(f"{layer}: {text}" for layer, text in answer.items() if layer != "ready")
    if status == 200:
        return Check(name, Level.OK, f"ready{f' ({layers})' if layers else ''}")
    return Check(
        name, Level.FAIL, f"answers {status}: {layers}", "put right what it names; senders are told 503 until then"
    )
