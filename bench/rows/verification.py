"""What verifying costs: a body of 2 KB against two secrets, as a multiple of one bare HMAC of it."""

from __future__ import annotations

import hmac
import statistics
import time
from collections.abc import Callable

from bench.rows import Row
from bench.stage import Stage
from landfast.domain.delivery import Head, Headers
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.providers.signing import sign

NAME = "verify 2 KB with two secrets, to one bare HMAC"
SAMPLES = 5


async def rows(stage: Stage) -> list[Row]:
    stage.say("verification")
    stripe = provider("stripe")
    body = b"x" * 2048
    secrets = (Secret("new", b"the new secret of the source"), Secret("old", b"the old secret of the source"))
    signed = sign(stripe, body, secrets[1], now=time.time())
    headers = Headers((name.encode(), value.encode()) for name, value in signed.items())
    head = Head("POST", "/in/stripe", "", headers, len(body))

    def verify() -> object:
        return stripe.verify(stripe.present(head), head, body, secrets)

    def bare() -> object:
        return hmac.digest(secrets[0].key, body, "sha256")

    row = Row(NAME, "x")
    for _ in range(SAMPLES):
        ours, theirs = _each(verify, stage.sizes.repeats), _each(bare, stage.sizes.repeats)
        row.values.append(ours / theirs)
        row.detail = {"verify_microseconds": round(ours * 1e6, 2), "hmac_microseconds": round(theirs * 1e6, 2)}
    return [row]


def _each(function: Callable[[], object], repeats: int) -> float:
    took = []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        for _ in range(repeats):
            function()
        took.append((time.perf_counter() - began) / repeats)
    return statistics.median(took)
