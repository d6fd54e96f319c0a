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
    source: str
    key: str
    type: str
    entity: str | None
    occurred_at: datetime | None
    received_at: datetime
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    data: Any = field(repr=False)
    attempt: int = 1
    run: int = 1

    def parse(self, model: builtins.type[T]) -> T:
        """The data as a msgspec Struct, dataclass, TypedDict or pydantic model."""
        validate = getattr(model, "model_validate", None)
        if validate is not None:
            parsed: T = validate(self.data)
            return parsed
        return msgspec.convert(self.data, model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What an effect is given: pass `key` on as the idempotency key of the outside call."""

    key: str
    name: str
    attempt: int
    run: int
    event: Mapping[str, Any]
    """source, key, type and id of the event that staged it."""
