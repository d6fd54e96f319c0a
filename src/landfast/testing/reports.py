"""What a test is told: answers, events, effects and what went wrong, in plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

NO_ANSWER = 0
"""In the place of a status: the sender heard nothing."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What the sender was told."""

    status: int
    """Of the HTTP answer; 0 where the sender got none."""
    body: dict[str, Any]
    """Its JSON; `{"text": ...}` for a sender that wants to read a word of its own."""

    @property
    def is_new(self) -> bool:
        """False for a duplicate, and for what was refused."""
        return self.body.get("status") == "stored"

    @property
    def event(self) -> str | None:
        """The event's id, for `landfast events show`."""
        return self.body.get("event")


@dataclass(frozen=True, slots=True)
class Called:
    """What the caller of an endpoint was told."""

    status: int
    """Of the HTTP answer."""
    body: bytes
    """As it was sent."""
    headers: Mapping[str, str]
    """Their names in small letters."""

    @property
    def json(self) -> Any:
        """The body, decoded; None where it is empty."""
        return json.loads(self.body) if self.body else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReport:
    """One event, as the inbox has it."""

    id: str
    """Landfast's own."""
    source: str
    """The source that it came from."""
    type: str
    """In the sender's words."""
    key: str
    """The sender's id of it."""
    state: str
    """`ready`, `delayed`, `unhandled`, `held`, `paused`, `done` or `dead`."""
    run: int = 1
    """1, and one more for each replay."""
    redelivered: int = 0
    """How often it came again."""
    handler: str = ""
    """Which handler decided about a delayed or dead one."""
    error: str = ""
    """The class of that handler's error."""
    message: str = ""
    """What that error says."""
    due_at: datetime | None = None
    """When a delayed one is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectReport:
    """One effect that a handler staged, and whose transaction was committed."""

    name: str
    """The one that it is registered under."""
    arguments: Mapping[str, Any]
    """As they were given to `tx.stage`, after a way through JSON."""
    key: str
    """Its idempotency key."""
    state: str
    """`waiting` while it waits for others, `ready` until it is performed; then `done`, `delayed` or `dead`."""
    attempts: int = 0
    """How often it was tried."""
    event: Mapping[str, Any]
    """id, source, key and type of the event that staged it."""
    error: str = ""
    """The class of its last error."""
    named: str = ""
    """What `tx.stage` was told to call it."""
    after: Sequence[str] = ()
    """Keys of those that it was staged after."""
    result: Any = None
    """What it returned, after a way through JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed attempt of a handler or an effect."""

    name: str
    """The handler's, or the effect's."""
    key: str
    """The event's key, or the effect's."""
    attempt: int
    """1 for the first."""
    error: BaseException
    """What was raised, with its traceback; a `HandlerFailedError` where the attempt failed without any."""

    def __str__(self) -> str:
        return f"{self.name} failed for {self.key} (attempt {self.attempt}): {type(self.error).__name__}: {self.error}"


@dataclass(frozen=True, slots=True)
class Redelivered:
    """How a sender fared that tried again and again."""

    attempts: tuple[tuple[datetime, Delivered], ...]
    """When it sent, and what it heard."""
    was_heard: bool
    """Whether it heard a success in the end; otherwise it has given up."""

    @property
    def hours(self) -> float:
        """From its first attempt to its last."""
        return (self.attempts[-1][0] - self.attempts[0][0]).total_seconds() / 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class StormReport:
    """What a storm came to."""

    delivered: int
    """Requests."""
    stored: int
    """Of these, the first of an event."""
    duplicates: int
    """Of these, those of an event that was known."""
    crashes: int
    """Workers that died on the way."""


class HandlerFailedError(Exception):
    """An attempt failed, and the handler itself raised nothing: the COMMIT was refused, or its body could not be
    read."""


class WorkerKilledError(BaseException):
    """The end of a worker, as by SIGKILL: nothing that expects errors may catch it."""
