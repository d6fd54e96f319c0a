"""What a sender is told. Nothing here depends on how the answer travels."""

from __future__ import annotations

import msgspec


class Answer(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    content_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()
    close: bool = False
    """The connection ends after this answer, because what follows on it cannot be trusted: the request was broken, or
    its sender has proved nothing. No genuine sender has more behind it, and a stranger's next refusal costs him a
    connection."""
    events: tuple[bytes, ...] = ()
    """Those that the request brought, if they are durable now: for whoever goes on with them. No sender sees it."""


def stored(event: bytes, events: tuple[bytes, ...]) -> Answer:
    return Answer(200, b'{"status":"stored","event":"%s"}' % event.hex().encode(), events=events)


def duplicate(events: tuple[bytes, ...]) -> Answer:
    return Answer(200, b'{"status":"duplicate","event":"%s"}' % events[0].hex().encode(), events=events)


def plain(text: str, *, status: int = 200) -> Answer:
    return Answer(status, text.encode(), b"text/plain; charset=utf-8")


def error(status: int, sentence: str, *, headers: tuple[tuple[bytes, bytes], ...] = (), close: bool = False) -> Answer:
    # The sentences are ours and hold no quote or backslash, so no JSON encoder is needed on the hot path.
    return Answer(status, b'{"error":"%s"}' % sentence.encode(), headers=headers, close=close)
