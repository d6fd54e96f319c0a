"""A sink: somewhere outside that alerts are sent to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from landfast.alerting.content import Content

ANSWER_CHARACTERS = 200
"""Of what a sink answered that are shown: the sentence at its beginning says it."""


class SinkError(Exception):
    """It did not take a message. The text holds no secret, and is for the log."""

    def __init__(self, text: str, *, retry_after: float = 0.0) -> None:
        super().__init__(text)
        self.retry_after = retry_after
        """Seconds that the receiver asks to be left alone for."""


class Sink(Protocol):
    """Its methods block, and are called in a thread of its own."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    def send(self, content: Content) -> str:
        """Deliver it; what was answered, in a few words. SinkError for everything that goes wrong."""
        ...


def shown(answer: str, secrets: Iterable[str] = ()) -> str:
    """The beginning of an answer, on one line. A receiver may repeat what it was sent: no secret is shown."""
    for secret in secrets:
        if secret:
            answer = answer.replace(secret, "***")
    text = " ".join(answer.split())
    return text if len(text) <= ANSWER_CHARACTERS else f"{text[:ANSWER_CHARACTERS]}..."
