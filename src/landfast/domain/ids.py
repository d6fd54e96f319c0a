"""Names and digests. An id is derived, never drawn, wherever two processes must agree on it without talking."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NewType

InboxId = NewType("InboxId", bytes)
"""16 random bytes drawn once, when an inbox is created; a ledger is bound to it."""

NO_INBOX = InboxId(b"")
"""Of what runs without one: a handler that is proven."""

EventId = NewType("EventId", bytes)
"""16 bytes derived from (source, key): two twins compute the same id before either is stored."""

SeenMark = NewType("SeenMark", bytes)
"""16 bytes by which the seen cache knows a delivery: the event's id where that says enough, and otherwise a digest of
the id with the body, the type or the proof. No table has it."""

Proof = NewType("Proof", bytes)
"""16 bytes derived from a source and what a sender signed for it: a proof that is seen again is known by them."""

ReceiptDigest = NewType("ReceiptDigest", bytes)
"""16 bytes derived from (inbox, source, key): what a receipt in a shared ledger is keyed by."""

WorkerId = NewType("WorkerId", bytes)
"""8 random bytes for one boot of one worker process."""

Token = NewType("Token", bytes)
"""A worker's id and its claim number, 8 bytes each: unique per claim, growing within one worker's life."""

BootId = NewType("BootId", bytes)
"""8 random bytes for one boot of one intake process; delivery counters are kept per boot."""

HandlerName = NewType("HandlerName", str)
EffectKey = NewType("EffectKey", str)


def event_id(source: str, key: str) -> EventId:
    framed = _framed_source(source) + _framed(key.encode("utf-8", "surrogatepass"))
    return EventId(hashlib.sha256(framed).digest()[:16])


def full_mark(event: EventId, *, body: bytes | None = None, type_: str | None = None) -> SeenMark:
    """An event together with its very bytes, or its type, or both."""
    whole = b"" if body is None else hashlib.sha256(body).digest()
    typed = b"" if type_ is None else b"type" + type_.encode("utf-8", "surrogatepass")
    return SeenMark(hashlib.sha256(event + whole + typed).digest()[:16])


def proof_of(source: str, signed: bytes) -> Proof:
    return Proof(hashlib.sha256(_framed_source(source) + signed).digest()[:16])


def proof_mark(event: EventId, body: bytes, proof: Proof) -> SeenMark:
    """An event together with its very bytes and what proved its sender."""
    return SeenMark(hashlib.sha256(event + hashlib.sha256(body).digest() + proof).digest()[:16])


def ids_from(prefix: str) -> tuple[EventId, EventId]:
    """The first and the last id that begin with these hexadecimal digits."""
    first, last = (EventId(bytes.fromhex(prefix.ljust(32, filler))) for filler in "0f")
    return first, last


def receipt_digest(inbox: InboxId, source: str, key: str) -> ReceiptDigest:
    return ReceiptDigest(_digest(inbox, source.encode(), key.encode("utf-8", "surrogatepass")))


def effect_key(receipt: ReceiptDigest, handler: str, name: str) -> EffectKey:
    """The idempotency key that an effect carries outside: the same across retries and replays."""
    return EffectKey(_digest(receipt, handler.encode(), name.encode()).hex())


def step_name(handler: str, label: str) -> HandlerName:
    """Under which a step of this handler has its receipt. No handler and no effect has a `/` in its own name."""
    return HandlerName(f"{handler}/{label}")


def is_step(name: str) -> bool:
    """Whether a receipt under this name is that of a step."""
    return "/" in name


def token(worker: WorkerId, number: int) -> Token:
    return Token(worker + number.to_bytes(8, "big"))


def tokens_of(worker: WorkerId) -> tuple[Token, Token]:
    """The first and the last token that a worker can have."""
    return Token(worker + bytes(8)), Token(worker + b"\xff" * 8)


def worker_of(claim: Token) -> WorkerId:
    return WorkerId(claim[:8])


@lru_cache(maxsize=1024)
def _framed_source(source: str) -> bytes:
    return _framed(source.encode())


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(map(_framed, parts))).digest()[:16]


def _framed(part: bytes) -> bytes:
    # Preceded by its length, so that ("ab", "c") and ("a", "bc") differ.
    return len(part).to_bytes(4, "big") + part
