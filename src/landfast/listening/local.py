"""What listens on the laptop: one request at a time, and what it was answered."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from landfast.providers.request import Draft

ANSWER_SECONDS = 60.0
"""A person may have stopped it in a debugger; longer than any sender waits."""

ANSWER_BYTES = 4096
"""Of an answer that are read: enough for a sentence."""

NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True)
class Answer:
    outcome: str
    """The status, or that there was none."""
    text: str
    seconds: float

    @property
    def is_good(self) -> bool:
        return self.outcome.startswith("2")


def post(draft: Draft, address: str, about_to: Callable[[], None]) -> Answer | None:
    """None where nothing listens: then nothing was sent. `about_to` is called when somebody is there, before the first
    byte goes out; from then on it may have arrived, whatever happens."""
    parts, query = urlsplit(address), urlsplit(draft.url).query
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=ANSWER_SECONDS)
    try:
        try:
            connection.connect()
        except OSError:
            return None
        about_to()
        began = time.monotonic()
        try:
            target = (parts.path or "/") + (f"?{query}" if query else "")
            connection.request(draft.method, target, draft.body, draft.headers)
            response = connection.getresponse()
            text = response.read(ANSWER_BYTES).decode("utf-8", "replace")
            return Answer(str(response.status), text, time.monotonic() - began)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Answer(NO_ANSWER, str(error) or type(error).__name__, time.monotonic() - began)
    finally:
        connection.close()
