"""An endpoint: a source whose callers want an answer. Its rules, and the key that a call is known by."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from landfast.domain.errors import ConfigError
from landfast.domain.ids import EventId, HandlerName

KEY_HEADER = b"idempotency-key"
TIMESTAMP_HEADER = b"x-request-timestamp"

CALL = "call"
"""The type of every event of an endpoint."""

LONGEST_KEY = 255
"""Characters: a UUID has 36, and the longest that payment APIs take have 255."""

LONGEST_WAIT_SECONDS = 60.0
"""Proxies give up after a minute; a caller that can wait longer asks again."""

LONGEST_PATH = 200

_is_path = re.compile(r"(?:/[A-Za-z0-9._~-]+)+").fullmatch
_is_key = re.compile(rf"[\x21-\x7e]{{1,{LONGEST_KEY}}}").fullmatch
_quoted = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"').fullmatch
_is_id = re.compile(r"[0-9a-f]{32}").fullmatch
_OURS = ("/in", "/health", "/ready", "/metrics")


class OnFailure(StrEnum):
    """What a call is told whose key has failed for good."""

    ANSWER = "answer"
    """The stored failure, again and again: who wants another try takes another key."""
    RUN_AGAIN = "run_again"
    """It runs afresh, under the same key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    path: str
    handler: HandlerName
    """Whose receipt has the answer."""
    wait: float
    """Seconds that a caller is kept waiting for its answer, before it is told to come again."""
    failed: OnFailure

    def event_in(self, path: str) -> EventId | None:
        """The event that a status link of this endpoint asks about."""
        rest = path.removeprefix(f"{self.path}/")
        return EventId(bytes.fromhex(rest)) if rest != path and _is_id(rest) else None

    def link(self, event: EventId, asked: str) -> str:
        """Relative to the path that was asked for, because only the host knows where it has mounted us."""
        return event.hex() if asked != self.path else f"{self.path.rpartition('/')[2]}/{event.hex()}"


def checked_path(path: str) -> str:
    """ConfigError for one that cannot be an endpoint's."""
    what = f"endpoint {path!r}"
    if not isinstance(path, str) or len(path) > LONGEST_PATH or not _is_path(path):
        raise ConfigError(
            f"{what}: the path must be like /internal/provision: letters, digits, '-', '_', '.' and '~' between single"
            " slashes, and no slash at the end"
        )
    if set(path.split("/")) & {".", ".."}:
        raise ConfigError(f"{what}: a part of the path is '.' or '..', which clients resolve before they send it")
    if any(path == taken or path.startswith(f"{taken}/") for taken in _OURS):
        raise ConfigError(f"{what}: {', '.join(_OURS)} and what is below them is Landfast's own; take another path")
    return path


def key_in(header: bytes | None) -> str | None:
    """The key of a call; None where there is none that can be used. The IETF's draft has it in quotes, and most clients
    send it without: both are the same key."""
    if header is None:
        return None
    text = header.strip().decode("ascii", "replace")
    if found := _quoted(text):
        text = re.sub(r"\\(.)", r"\1", found[1])
    elif text.startswith('"'):
        return None
    return text if _is_key(text) else None
