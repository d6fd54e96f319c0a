"""What alerts keep in the inbox, so that all machines and restarts agree, and exactly one process tells."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from landfast.domain.alerts.alert import Alert, Silence
from landfast.domain.alerts.volumes import Volume
from landfast.domain.ids import BootId
from landfast.domain.message import Death, Message, WaitingMessage

RESOLVED_KEPT_SECONDS = 35 * 86_400.0
"""For which a resolved alert, and a message that nobody has taken, can still be looked at."""


class Duties(Protocol):
    """Work that one process at a time does for all."""

    async def lead(self, task: str, *, who: BootId, lasting: float, patience: float = 0.0) -> datetime | None:
        """Take the task, or keep it, for so many seconds from now; the inbox's time, or None where somebody else has
        it. One that has run out for `patience` seconds or more is free."""
        ...

    async def resign(self, task: str, *, who: BootId) -> None:
        """Let go of it, if it is held."""
        ...


class AlertBoard(Protocol):
    async def firing(self) -> Sequence[Alert]:
        """Alerts that are not resolved, oldest first."""
        ...

    async def resolved(self, *, limit: int) -> Sequence[Alert]:
        """Newest first."""
        ...

    async def save_alerts(
        self, alerts: Sequence[Alert], messages: Sequence[Message], *, task: str, who: BootId
    ) -> bool:
        """Store alerts and what is to be told about them in one COMMIT, if this process still has the task; whether it
        has. A message that repeats is left out where its sink has not taken an earlier one of the same incident.
        Alerts that were resolved long ago are forgotten, and so are messages that nobody took for as long."""
        ...

    async def silences(self) -> Sequence[Silence]:
        """Those in force."""
        ...

    async def silence(self, name: str, subject: str, *, lasting: float, who: str, why: str) -> datetime:
        """In force from now on, for so many seconds; until when. An earlier one of the same is replaced."""
        ...

    async def unsilence(self, name: str, subject: str) -> bool:
        """In force no longer; whether it was."""
        ...

    async def untried_since(self) -> datetime | None:
        """When the oldest ready event came in that is in its first run and was never tried, among the first thousand
        that are ready. It costs the same behind any backlog."""
        ...

    async def last_quarter(self) -> datetime | None:
        """The latest quarter of an hour that was added."""
        ...

    async def add_volumes(self, quarters: Sequence[datetime], volumes: Sequence[Volume]) -> None:
        """What was counted in these quarters, of which some may have brought nothing. A quarter that is added again
        replaces the one before. What is older than five weeks is forgotten."""
        ...

    async def volumes(self, quarters: Sequence[datetime]) -> tuple[Sequence[datetime], Sequence[Volume]]:
        """Those of the quarters that were added, and what was counted in them."""
        ...


class Outbox(Protocol):
    """Messages that wait for their receivers."""

    async def take_messages(self, sinks: Sequence[str], *, limit: int, lease: float) -> Sequence[WaitingMessage]:
        """Due messages for these sinks, oldest first; nobody else gets them for `lease` seconds. Of one incident and
        sink, only the oldest that waits."""
        ...

    async def drop_message(self, message: Message) -> None:
        """Its receiver has taken it."""
        ...

    async def put_off_message(self, message: Message, *, due_in: float | None, error: str) -> None:
        """To be tried again after so many seconds; or never, with None."""
        ...

    async def waiting_messages(self, *, limit: int) -> Sequence[WaitingMessage]:
        """All that nobody has taken, also those that were given up, oldest first."""
        ...


class Deaths(Protocol):
    """Dead letters in the order in which events became so."""

    async def walked_to(self, name: str) -> int | None:
        """How far a walk has come, by the number of a line; None for one that has not begun."""
        ...

    async def deaths(self, *, after: int, upto: int, limit: int) -> Sequence[Death]:
        """The lines in this range that made their events dead letters, oldest first."""
        ...

    async def walk_on(self, name: str, *, seen: int | None, upto: int, messages: Sequence[Message]) -> bool:
        """Store the messages and how far the walk has come in one COMMIT, if it still was where it was seen; whether it
        was."""
        ...


class Alerting(Duties, AlertBoard, Outbox, Deaths, Protocol):
    """All of it."""
