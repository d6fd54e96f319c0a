"""`make fuzz`: random requests, headers and bodies for FUZZ_SECONDS (60), from FUZZ_SEED (drawn and printed).

With FUZZ_STREAMS it is that many hostile streams of requests instead, however long they take: 100,000 take some minutes.
A finding prints the line that repeats it: python -m tests.fuzz TARGET SEED NUMBER.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import random
import sys
import time
import traceback
from typing import Any, Protocol

from tests.fuzz.parsers import Bodies, Providers
from tests.fuzz.protocol import Protocol as HttpProtocol


class Target(Protocol):
    async def run(self, draw: random.Random) -> None: ...


TARGETS: dict[str, tuple[type[Any], float]] = {
    "protocol": (HttpProtocol, 0.6),
    "providers": (Providers, 0.2),
    "bodies": (Bodies, 0.2),
}
"""Each with its share of the time."""


async def fuzz(name: str, seed: int, *, seconds: float = math.inf, cases: float = math.inf) -> tuple[int, Any]:
    """How many cases held, and the target with its counts; a case that does not hold raises, with its number."""
    target = TARGETS[name][0]()
    number, ends = 0, time.monotonic() + seconds
    while number < cases and time.monotonic() < ends:
        try:
            await case(target, name, seed, number)
        except BaseException as error:
            error.add_note(f"repeat it: python -m tests.fuzz {name} {seed} {number}")
            raise
        number += 1
    return number, target


async def case(target: Target, name: str, seed: int, number: int) -> None:
    """Each case has a seed of its own, so that it can be repeated alone."""
    await target.run(random.Random(f"{name} {seed} {number}"))


def main(arguments: list[str]) -> int:
    logging.disable(logging.CRITICAL)
    if arguments:
        name, seed, number = arguments[0], int(arguments[1]), int(arguments[2])
        asyncio.run(case(TARGETS[name][0](), name, seed, number))
        print("it holds")
        return 0
    seconds = float(os.environ.get("FUZZ_SECONDS", "60"))
    seed = int(os.environ.get("FUZZ_SEED") or random.SystemRandom().randrange(10**9))
    print(f"seed {seed}: FUZZ_SEED={seed} make fuzz", flush=True)
    failed = False
    streams = int(os.environ.get("FUZZ_STREAMS", "0"))
    for name, (_, share) in TARGETS.items():
        if streams and name != "protocol":
            continue
        bound = {"cases": streams} if streams else {"seconds": seconds * share}
        started = time.monotonic()
        try:
            count, target = asyncio.run(fuzz(name, seed, **bound))
        except BaseException:  # noqa: BLE001 - whatever it is, it is the finding
            traceback.print_exc()
            failed = True
            continue
        rate = count / (time.monotonic() - started)
        shown = {what: value for what, value in vars(target).items() if isinstance(value, int) or what == "statuses"}
        print(f"{name}: {count:,} executions, {rate:,.0f}/s, none failed; {shown}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
