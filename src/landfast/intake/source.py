"""A source: a configured sender."""

from __future__ import annotations

from dataclasses import dataclass

from landfast.ports.provider import Provider, Secret

TOLERANCE = 300.0
"""Seconds that a signed timestamp may be away from our clock, either way: what Stripe, Slack and Standard Webhooks all
recommend. Longer lets a captured request live longer; shorter refuses senders whose clocks drift."""


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    provider: Provider
    secrets: tuple[Secret, ...]
    tolerance: float = TOLERANCE
    body_limit: int = 0
    """Bytes; 0 asks for what the provider is known to send at most."""

    def __post_init__(self) -> None:
        if not self.body_limit:
            object.__setattr__(self, "body_limit", self.provider.body_limit)
