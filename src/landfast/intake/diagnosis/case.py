"""A case: one refusal, what may be looked at to explain it, and how much that may cost.

A stranger can cause it, so it is bounded: so many HMACs over so many bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from landfast.domain.delivery import Head
from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import present
from landfast.ports.provider import NO_KEYS, KeyNeeded, Proven, Provider, PublicKey, Secret, Signature

MOST_HMACS = 256
"""For one refusal; a millisecond of them with a body of 2 KB."""

MOST_BYTES = 4 * 1024 * 1024
"""Hashed for one refusal: about ten milliseconds of a thread."""

PUBLIC_COST = 8
"""One check with a public key takes as long as so many HMACs, or longer."""


class Diagnosis(NamedTuple):
    cause: str
    """A word that stays the same, for machines."""
    sentence: str
    is_ours: bool = False
    """A secret that we know made the signature: something is set up wrongly, and it is no stranger."""


@dataclass(slots=True)
class Case:
    """One refusal, and what may be looked at to explain it."""

    source: Source
    head: Head
    body: bytes | None
    """None where it was refused before its body was read."""
    now: float
    others: Sequence[Source] = ()
    known: Iterable[Provider] = ()
    """Kinds of senders to compare with."""
    keys: Mapping[str, bytes] = field(default_factory=lambda: NO_KEYS)
    is_by_hand: bool = False
    """Whether it was put on a command line, and there is no source to correct."""
    rest: Callable[[], None] = lambda: None
    """Before each guess: others may need the processor."""
    hmacs: int = 0
    hashed: int = 0
    reasons: list[str] = field(default_factory=list)
    """Of each guess, why it was wrong."""

    def matching(
        self,
        secrets: Sequence[Secret],
        *,
        signature: Signature | None = None,
        provider: Provider | None = None,
        head: Head | None = None,
        body: bytes | None = None,
        url: str | None = None,
    ) -> Secret | None:
        """Try a guess: the secret with which it is right. Once the budget is spent, none is."""
        proven = self.proven(secrets, signature=signature, provider=provider, head=head, body=body, url=url)
        return None if proven is None else proven.secret

    def proven(
        self,
        secrets: Sequence[Secret],
        *,
        signature: Signature | None = None,
        provider: Provider | None = None,
        head: Head | None = None,
        body: bytes | None = None,
        url: str | None = None,
    ) -> Proven | None:
        """The same, with the request as it was read."""
        self.rest()
        head = self.head if head is None else head
        body = self.body if body is None else body
        cost = sum(PUBLIC_COST if isinstance(secret.key, PublicKey) else 1 for secret in secrets)
        if body is None or self.hmacs + cost > MOST_HMACS or self.hashed + cost * len(body) > MOST_BYTES:
            return None
        self.hmacs += cost
        self.hashed += cost * len(body)
        try:
            presented = present(self.source, head, now=self.now) if signature is None else signature
            url = self.source.public_url if url is None else url
            judge = self.source.provider if provider is None else provider
            return judge.verify(presented, head, body, secrets, url=url, keys=self.keys)
        except (UnverifiedError, KeyNeeded) as error:
            self.reasons.append(str(error))
        except Exception as error:  # noqa: BLE001 - a key or a setting of one sender, given to the scheme of another
            self.reasons.append(type(error).__name__)
        return None
