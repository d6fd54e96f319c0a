"""The application that is attacked: the one of the other rows, with neighbours whose bodies are read before a proof."""

from __future__ import annotations

from bench.shop import inbox

inbox.source("github", provider="github", secrets=["env:BENCH_SECRET"])
inbox.source("mailgun", provider="mailgun", secrets=["env:BENCH_SECRET"])

__all__ = ["inbox"]
