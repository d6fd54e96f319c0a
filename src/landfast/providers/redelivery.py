"""What a profile tells beside how it signs: how the sender tries again, and what a request of it looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Redelivery:
    """What is known of how a sender tries again; None for what is not. Seconds."""

    timeout: float | None = None
    """How long it waits for an answer."""
    window: float | None = None
    """From its first attempt to its last; 0 for a sender that never tries again."""
    delays: tuple[float, ...] | None = None
    """Between the attempts."""
    success: str = "2xx"
    ends_on: str | None = None
    """What answer makes it give up at once."""
    is_ordered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A realistic request of this provider, written here. `{id}` and `{type}` in its text are filled in; of a type with
    a dot, `{type.first}` and `{type.rest}` are the two parts, and a field that comes to nothing is left out."""

    type: str
    data: Any
    """The body, as data."""
    headers: Mapping[str, str] = field(default_factory=dict)
    is_form: bool = False
    encoded: str | None = None
    """The field of a form that is sent in base64."""
    id: str = "sample_1001"
