"""The loop: wait for a beat of the hosted inbox, look for what is new, forward it, remember it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from landfast.admin.questions.event_request import EventRequest
from landfast.admin.questions.events import EventRow
from landfast.domain.errors import UserError
from landfast.domain.ids import EventId
from landfast.domain.summary import Cursor
from landfast.listening.hosted import AwayError, Hosted, NotGivenError
from landfast.listening.journal import Journal
from landfast.listening.local import Answer, post
from landfast.operations.cursor import cursor_text
from landfast.providers.request import Draft

OVERLAP = timedelta(seconds=10)
"""Looked through again at each look: of two events that came at once, the later one may be there first."""

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 30.0
"""Between two tries to reach the hosted inbox: each wait is twice the one before, give or take a quarter."""

LOCAL_WAIT_SECONDS = 0.5
"""Between two tries to reach what listens here: it is being restarted, most of the time."""

SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What became of one event. `outcome` is the status of the local answer, or a word where there is none."""

    event: str
    source: str
    key: str
    type: str
    outcome: str
    text: str
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        return self.outcome.startswith("2")


Sign = Callable[[EventRequest], tuple[Draft, str]]
"""The request for what listens here, and its address."""


class Listener:
    """`say` hears of each event, `note` of what is in the way."""

    def __init__(
        self,
        hosted: Hosted,
        journal: Journal,
        sign: Sign,
        *,
        say: Callable[[Forwarded], None],
        note: Callable[[str], None],
        again: bool = False,
    ) -> None:
        self._hosted = hosted
        self._journal = journal
        self._sign = sign
        self._say = say
        self._note = note
        self._again = again
        self._sent: set[str] = set()
        """In this run."""
        self._at: dict[str, datetime] = {}

    def listen(self, sources: Sequence[str], *, since: datetime | None, ready: Callable[[], None]) -> None:
        """For ever: from `since` on, or from where it stopped, or from now on. `ready` is called when it has begun."""
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                for _ in self._hosted.beats():
                    if not self._at:
                        self._at = {source: self._begin(source, since) for source in sources}
                        ready()
                    self._look()
                    wait = FIRST_WAIT_SECONDS
            except NotGivenError as error:
                raise UserError(f"listen: {error}") from None
            except AwayError as error:
                self._note(f"{error}; trying again in {wait:.2g} s")
            time.sleep(wait * random.uniform(0.75, 1.25))  # noqa: S311 - so that not all come back at once
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    def forward(self, names: Sequence[str]) -> bool:
        """These events, once each, whether or not they were forwarded before; whether all were taken."""
        told = [self._forward(name, is_named=True) for name in names]
        return all(one.is_good for one in told)

    def _begin(self, source: str, since: datetime | None) -> datetime:
        known = self._journal.position(source)
        if since is None and known is not None:
            return known
        begun = since or self._hosted.begin_at(source)
        self._journal.begin(source, begun)
        return begun

    def _look(self) -> None:
        for source in self._at:
            for row in self._new(source):
                if row.id not in self._sent and (self._again or row.id not in self._journal.known):
                    self._forward(row.id)
                self._at[source] = max(self._at[source], row.received_at)

    def _new(self, source: str) -> Iterator[EventRow]:
        """What came before the first start is nobody's."""
        after: str | None = cursor_text(Cursor(self._at[source] - OVERLAP, EventId(bytes(16))))
        while after is not None:
            page = self._hosted.page(source, after)
            yield from (row for row in page.events if row.received_at >= self._journal.begun[source])
            after = page.next

    def _forward(self, name: str, *, is_named: bool = False) -> Forwarded:
        try:
            request = self._hosted.request_of(name)
        except NotGivenError as error:
            self._sent.add(name)
            return self._told(Forwarded(name, "", name, "", SKIPPED, str(error)))
        event = request.event
        self._sent.add(event.id)
        at = None if is_named else event.received_at
        if request.no_body:
            self._journal.about_to(event.source, event.id, at)
            answer = Answer(SKIPPED, request.no_body, 0.0)
        else:
            answer = self._posted(request, lambda: self._journal.about_to(event.source, event.id, at))
        self._journal.ended(event.source, event.id, answer.outcome)
        came = event.id, event.source, event.key, event.type
        return self._told(Forwarded(*came, answer.outcome, answer.text, answer.seconds))

    def _posted(self, request: EventRequest, about_to: Callable[[], None]) -> Answer:
        """Waits for somebody to listen: a server that is being restarted must not miss anything."""
        is_told = False
        while True:
            draft, address = self._sign(request)
            answer = post(draft, address, about_to)
            if answer is not None:
                return answer
            if not is_told:
                self._note(f"nothing listens at {address}; waiting for it")
                is_told = True
            time.sleep(LOCAL_WAIT_SECONDS)

    def _told(self, told: Forwarded) -> Forwarded:
        self._say(told)
        return told
