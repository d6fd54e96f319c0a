"""The application that is attacked: the one of the other rows, with neighbours whose bodies are read before a proof."""

from __future__ import annotations

import http.client
import time

from bench.shop import inbox

inbox.source("github", provider="github", secrets=["env:BENCH_SECRET"])
inbox.source("mailgun", provider="mailgun", secrets=["env:BENCH_SECRET"])

inbox.source("paypal", provider="paypal", secrets=["4JH86294D6297924G"])


def _never_answer(self: http.client.HTTPConnection) -> None:  # noqa: ARG001 - as the method that it stands for
    """A provider whose keys do not come: whoever names one waits for as long as anybody can. And no attack of ours
    reaches a real one."""
    time.sleep(10)
    raise OSError("no provider answers in a benchmark")


http.client.HTTPSConnection.connect = _never_answer  # type: ignore[method-assign]

__all__ = ["inbox"]
