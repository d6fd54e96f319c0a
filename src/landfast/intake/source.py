"""A source: a configured sender."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from landfast.domain import answer
from landfast.domain.answer import Answer
from landfast.domain.delivery import Siblings
from landfast.domain.endpoint import Endpoint
from landfast.domain.errors import OverloadedError, UnverifiedError
from landfast.ports.provider import Hidden, Provider, Secret


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    provider: Provider
    secrets: tuple[Secret, ...]
    tolerance: float = 0.0
    """Seconds that a signed time may be away from our clock; 0 asks for what suits the provider."""
    body_limit: int = 0
    """Bytes; 0 asks for what the provider is known to send at most."""
    public_url: str = ""
    """The address that the sender was given, with its query: some sign it. Never guessed from a request, whose Host and
    query anybody may choose."""
    confirms: bool = False
    """Whether a handshake's address may be opened without asking the operator."""
    is_strict: bool = False
    """Whether a known key with another body is another event, to be held, and no duplicate."""
    binds_proofs: bool = True
    """Whether a proof that does not bind the body counts for its first body only, and an event with another is held. Of
    no meaning, and False, where every proof binds its body."""
    counts_repeats: bool = False
    """Whether the same bytes that come again are counted, because every arrival is an event."""
    siblings: Siblings | None = None
    """When a known key under another type is another event; None where the type is signed."""
    memory: float = math.inf
    """Seconds: an event whose own time is longer ago may be one that the inbox has forgotten."""
    rate: float | None = None
    """Verified deliveries a second; no limit unless it is set."""
    key_rate: float | None = None
    """The same for deliveries of one event. It costs: a duplicate beyond it is told 429, and not the 200 that would end
    its sender's retries."""
    event_rate: float | None = None
    """Verified events a second: a delivery may bring many."""
    byte_rate: float | None = None
    """Bytes of verified bodies a second."""
    hold: str = ""
    """Why its events are held when they come in; empty where workers process them."""
    allow_from: tuple[str, ...] = ()
    """Addresses and networks that may send; everybody unless it is set."""
    endpoint: Endpoint | None = None
    """Where it takes calls, which want an answer, in place of webhooks."""

    refused: Answer = field(init=False, repr=False, compare=False)
    """The answer to a wrong signature."""
    hidden_headers: Mapping[bytes, Hidden] = field(init=False, repr=False, compare=False)
    """What of a verified request is not stored, or only as a digest."""
    _is_timed: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A frozen dataclass computes derived fields this way; they are set once, here.
        if not self.body_limit:
            object.__setattr__(self, "body_limit", self.provider.body_limit)
        if not self.tolerance:
            object.__setattr__(self, "tolerance", self.provider.tolerance)
        object.__setattr__(self, "binds_proofs", self.binds_proofs and self.provider.signs_once)
        object.__setattr__(self, "refused", _refusal(self.provider.refusal))
        object.__setattr__(self, "hidden_headers", dict(self.provider.hidden_headers))
        is_timed = any((secret.active_from, secret.retired_at) != (-math.inf, math.inf) for secret in self.secrets)
        object.__setattr__(self, "_is_timed", is_timed)

    @property
    def path(self) -> str:
        return f"/in/{self.name}" if self.endpoint is None else self.endpoint.path

    def active(self, now: float) -> tuple[Secret, ...]:
        """The secrets that count at this time."""
        if not self._is_timed:
            return self.secrets
        return tuple(secret for secret in self.secrets if secret.active_from <= now < secret.retired_at)


def _refusal(status: int) -> Answer:
    if status == UnverifiedError.answer.status:
        return UnverifiedError.answer
    later = OverloadedError.answer.headers if status in {429, 503} else ()
    return answer.error(status, "signature not verified", headers=later, close=True)
