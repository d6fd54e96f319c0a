"""The handler that sends an event on. Its receipt says that the target has taken it, and what it answered."""

from __future__ import annotations

import asyncio
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from landfast.domain.errors import NoAnswerError, TargetAnsweredError
from landfast.domain.event import Event
from landfast.domain.standard_webhooks import signature
from landfast.domain.verdict import WaitFor
from landfast.forwarding.guard import Address, Network, objection, resolved
from landfast.forwarding.post import Answer, post

HEADER_CHARACTERS = 1_000
"""Of a type or a key, which a sender chose: what is longer does not help anybody to find it."""

NOT_ALLOWED_SECONDS = 30.0
"""Until an address is looked at again that may not be connected to: only a person, or the name server, changes that."""

_VISIBLE = "".join(sorted({*string.digits, *string.ascii_letters, *string.punctuation} - {"%"})) + " "


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    name: str
    url: str = field(repr=False)
    """It may hold a secret in its path, so nothing shows more of it than its host."""
    keys: Callable[[], Sequence[bytes]] = field(repr=False)
    """That it is signed with: more than one while a secret is changed."""
    allow: Sequence[Network] = ()
    """Networks that are connected to although they are not public."""
    timeout: float = 10.0
    dependency: str
    now: Callable[[], float]

    async def send(self, event: Event, _tx: Any) -> dict[str, Any]:
        """What it answered; TargetAnsweredError where that is no 2xx, NoAnswerError where it is nothing."""
        try:
            async with asyncio.timeout(self.timeout):
                answer = await self._post(event)
        except TimeoutError:
            raise NoAnswerError(f"{self.host} did not answer within {self.timeout:g} s") from None
        text = answer.body.decode("utf-8", "replace")
        if not 200 <= answer.status < 300:
            raise TargetAnsweredError(self.host, answer.status, text, retry_after=answer.headers.get("retry-after"))
        return {"status": answer.status, "body": text}

    def send_blocking(self, event: Event, tx: Any) -> dict[str, Any]:
        """The same in a thread, for ledgers whose transactions are for those."""
        return asyncio.run(self.send(event, tx))

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    async def objections(self) -> list[str]:
        """Why it would not be connected to: nothing where one of its addresses may be."""
        parts = urlsplit(self.url)
        found = await resolved(self.host, parts.port or 0)
        told = [f"{address}, {what}" for address in found if (what := self._objection(address))]
        return told if len(told) == len(found) else []

    def _objection(self, address: Address) -> str:
        return objection(address, self.allow, is_plain=urlsplit(self.url).scheme == "http")

    async def _post(self, event: Event) -> Answer:
        parts = urlsplit(self.url)
        try:
            found = await resolved(self.host, parts.port or 0)
        except OSError as error:
            raise NoAnswerError(f"{self.host} has no address ({error.strerror or type(error).__name__})") from error
        addresses = [address for address in found if not self._objection(address)]
        if not addresses:
            kinds = ", ".join(f"{address} ({self._objection(address)})" for address in found)
            # No attempt is burnt for it: no event is at fault.
            raise WaitFor(
                self.dependency,
                f"{self.host} is {kinds}; name it in allow if it is meant",
                after=NOT_ALLOWED_SECONDS,
            )
        return await post(parts, addresses, self._headers(event), event.body)

    def _headers(self, event: Event) -> dict[str, str]:
        at = f"{self.now():.0f}"
        about = {
            "landfast-source": event.source,
            "landfast-type": event.type,
            "landfast-key": event.key,
            "landfast-entity": event.entity or "",
            "landfast-received-at": event.received_at.isoformat(),
            "landfast-attempt": str(event.attempt),
        }
        return {
            "user-agent": "landfast",
            "content-type": _plain(event.headers.get("content-type", "application/octet-stream")),
            "idempotency-key": event.id,
            "webhook-id": event.id,
            "webhook-timestamp": at,
            "webhook-signature": " ".join(signature(key, event.id, at, event.body) for key in self.keys()),
            **{name: _plain(value) for name, value in about.items() if value},
        }


def _plain(value: str) -> str:
    """With every character that is no visible ASCII percent-encoded: a sender writes no header of ours."""
    return quote(value[:HEADER_CHARACTERS], safe=_VISIBLE)
