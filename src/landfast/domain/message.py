"""A message that waits in the inbox until whoever it is for has taken it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from landfast.domain.ids import EventId
from landfast.domain.lifecycle import Signal

DEADLY = (Signal.REFUSE, Signal.BURY)
"""By which an event dies of itself. What an operator discards or erases is news to nobody."""


@dataclass(frozen=True, slots=True)
class Message:
    id: str
    """The same at every try, so that a receiver can drop repeats."""
    sink: str
    """Who it is for: the name of a sink, or of a function of the user's."""
    content: str
    """JSON."""
    incident: str = ""
    """Messages of one incident go to one sink in the order in which they were made; those without one, in any."""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    message: Message
    made_at: datetime
    tries: int
    """How often it was taken, this time among them."""
    error: str = ""
    """Why it was not taken by its receiver the last time."""
    given_up_at: datetime | None = None


class Death(NamedTuple):
    """A line of history by which an event became a dead letter."""

    seq: int
    event: EventId
    run: int
