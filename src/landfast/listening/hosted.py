"""The admin API of the hosted inbox, as its client."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from landfast.admin.problems import Problem
from landfast.admin.questions.event_request import EventRequest
from landfast.admin.questions.events import EventsPage
from landfast.domain.errors import UserError
from landfast.domain.filter import Filter, text_of

ANSWER_SECONDS = 30.0
"""For one answer. The stream says something every other second, so that silence for this long is a dead connection."""

ANSWER_BYTES = 256 << 20
"""Of one answer: a body may have many megabytes, and base64 makes four thirds of it."""

LINE_BYTES = 4 << 20
"""Of one line of the stream: an overview has some ten thousand."""

ROWS = 200
REFUSED = frozenset({401, 403})
LATER = frozenset({429, 502, 503, 504})

T = TypeVar("T")


class AwayError(Exception):
    """No answer, or not now: it is asked again. It never leaves this package."""


class NotGivenError(Exception):
    """The inbox has it no more, or not in a form that can be sent. It never leaves this package."""


class _Source(msgspec.Struct):
    name: str


class _Sources(msgspec.Struct):
    sources: list[_Source]


class Hosted:
    """`url` is where the admin API is: https://inbox.example, with what it is mounted at."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise UserError(f"listen: {url!r} is no address of an admin API; give https://HOST, or http://HOST:PORT")
        self.url = url.rstrip("/")
        self.is_clear = parts.scheme == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}
        """Whether the token goes where others can read it."""
        self._parts = parts
        self._headers = {"accept": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})

    def sources(self) -> list[str]:
        return [source.name for source in self._ask("/api/sources", {}, _Sources).sources]

    def page(self, source: str, after: str) -> EventsPage:
        """Events of a source, oldest first, behind a cursor."""
        asked = {"filter": text_of(Filter(source=source)), "after": after, "oldest_first": "true", "limit": ROWS}
        return self._ask("/api/events", asked, EventsPage)

    def request_of(self, event: str) -> EventRequest:
        return self._ask(f"/api/events/{quote(event, safe='/')}/request", {}, EventRequest)

    def begin_at(self, source: str) -> datetime:
        """Just behind the newest event of a source, by the inbox's own times: what has come by now is before it."""
        asked = {"filter": text_of(Filter(source=source)), "limit": 1}
        page = self._ask("/api/events", asked, EventsPage)
        if page.events:
            return page.events[0].received_at + timedelta(microseconds=1)
        # Nothing of it came lately, or ever.
        return page.back_to or datetime.fromtimestamp(0, UTC) + timedelta(days=1)

    def beats(self) -> Iterator[None]:
        """Every other second for some minutes: look now. It ends when the inbox ends it."""
        connection = self._connection()
        try:
            response = self._get(connection, "/api/stream", {})
            self._must_be_given(response)
            while line := response.readline(LINE_BYTES):
                # An overview that failed is a beat, too: whether there is something new is another question.
                if line.rstrip() in {b"event: overview", b"event: problem"}:
                    yield
        except (OSError, http.client.HTTPException) as error:
            raise AwayError(f"the stream of {self.url} broke off: {_said(error)}") from None
        finally:
            connection.close()

    def _ask(self, path: str, query: dict[str, Any], kind: type[T]) -> T:
        connection = self._connection()
        try:
            response = self._get(connection, path, query)
            self._must_be_given(response)
            content = response.read(ANSWER_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise AwayError(f"{self.url} gave no answer: {_said(error)}") from None
        finally:
            connection.close()
        return self._decoded(content, kind)

    def _connection(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=ANSWER_SECONDS)

    def _get(
        self, connection: http.client.HTTPConnection, path: str, query: dict[str, Any]
    ) -> http.client.HTTPResponse:
        asked = f"?{urlencode(query)}" if query else ""
        connection.request("GET", f"{self._parts.path.rstrip('/')}{path}{asked}", headers=self._headers)
        return connection.getresponse()

    def _must_be_given(self, response: http.client.HTTPResponse) -> None:
        if response.status == http.client.OK:
            return
        try:
            detail = msgspec.json.decode(response.read(LINE_BYTES), type=Problem).detail
        except msgspec.MsgspecError:
            detail = ""
        if response.status in LATER:
            raise AwayError(f"{self.url} answered {response.status}{f': {detail}' if detail else ''}")
        if not detail:
            raise UserError(
                f"listen: no admin API of Landfast answers at {self.url}, but {response.status}; look at the address"
            )
        if response.status in REFUSED:
            raise UserError(f"listen: {self.url}: {detail}")
        raise NotGivenError(detail)

    def _decoded(self, content: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.MsgspecError:
            raise UserError(f"listen: what answers at {self.url} is no admin API of this version of Landfast") from None


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
