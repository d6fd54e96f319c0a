"""What a handler is given."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened at the source. Processed once, however often it was delivered."""

    id: str
    """Landfast's own, of 32 hex digits: what `landfast events show` takes."""
    source: str
    """The name that it is configured under."""
    key: str
    """The sender's id of the event, or a digest: with the source, what makes it this event and no other."""
    type: str
    """In the sender's words, such as `payment_intent.succeeded`."""
    entity: str | None
    """What it is about, such as a customer, where the provider says so."""
    occurred_at: datetime | None
    """By the sender's clock, where it says."""
    received_at: datetime
    """By ours, of the first delivery."""
    headers: Mapping[str, str] = field(repr=False)
    """Of the first delivery, with lower-case names; without those that hold a secret."""
    body: bytes = field(repr=False)
    """Exactly as it came, and as it was verified."""
    data: Any = field(repr=False)
    """The body, decoded: dictionaries and lists of JSON, or the fields of a form."""
    attempt: int = 1
    """1 for the first run of this handler for this event, and one more for each that failed."""
    run: int = 1
    """1, and one more for each replay."""
    late: bool = False
    """A later event of its entity was processed before it, by this handler. Ordered handlers alone are told."""

    def parse(self, model: builtins.type[T]) -> T:
        """The data as a msgspec Struct, dataclass, TypedDict or pydantic model; what does not fit raises that library's
        error, and the attempt has failed."""
        validate = getattr(model, "model_validate", None)
        if validate is not None:
            parsed: T = validate(self.data)
            return parsed
        return msgspec.convert(self.data, model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What an effect is given: pass `key` on as the idempotency key of the outside call."""

    key: str
    """The same at every try and in every run."""
    name: str
    """The one that it is registered under."""
    attempt: int
    """1 for the first try."""
    run: int
    """Of the event that staged it."""
    event: Mapping[str, Any]
    """source, key, type and id of the event that staged it."""
    timed_out: bool = False
    """Whether an arrival that it waited for did not come by its deadline, and was to be done without."""
