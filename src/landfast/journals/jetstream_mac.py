"""What proves that a message in the stream was written by an intake of the same inbox.

Whoever can publish to the broker could otherwise bring an event in that no provider signed. Or they could publish under
the id of an event that is still to come, and the stream would take the real one for a duplicate. So the id is a MAC,
too: nobody else knows what an event will be called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hmac import compare_digest

from landfast.domain.delivery import Delivery
from landfast.domain.mac import Mac

HEADER = "Landfast-Mac"


class MessageMac:
    def __init__(self, mac_key: bytes) -> None:
        self._bodies = Mac(mac_key, purpose=b"landfast message")
        self._ids = Mac(mac_key, purpose=b"landfast msg id")

    def message_id(self, request: Sequence[Delivery]) -> str:
        """What the stream knows it by: the event; of a strict source with its very bytes; of a request that brings many
        events, all of them together."""
        return self._ids.tag(*sorted({delivery.mark for delivery in request})).hex()

    def headers(self, lane: str, body: bytes) -> dict[str, str]:
        return {HEADER: self._bodies.tag(lane.encode(), body).hex()}

    def proves(self, lane: str, body: bytes, headers: Mapping[str, str] | None) -> bool:
        """Whether it is as an intake wrote it. A second copy of a message passes; the inbox knows what is in it."""
        tag = (headers or {}).get(HEADER, "").encode("utf-8", "replace")
        return compare_digest(tag, self._bodies.tag(lane.encode(), body).hex().encode())
