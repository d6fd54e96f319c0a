"""A journal on NATS JetStream: many intakes append to one stream, and drainers bring it into the inbox.

One message is one request: all of its deliveries, or none. Its id is what the request is about, so the stream itself
answers a sender's first retries. A batch of requests is published at once and all of its acknowledgements are awaited
together: the time of one round trip. An acknowledgement that does not come may mean "stored": nobody is answered, the
sender comes again, and the drainers find a duplicate.
"""

from __future__ import annotations

import zlib
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from nats.aio.client import Client

from landfast import telemetry
from landfast.domain.delivery import Delivery, Recorded, requests
from landfast.domain.errors import ConfigError, JournalUnavailableError, PartUnavailableError, UnavailableError
from landfast.domain.ids import InboxId, SeenMark
from landfast.journals.jetstream_address import read_address
from landfast.journals.jetstream_link import Link, Message
from landfast.journals.jetstream_mac import MessageMac
from landfast.journals.jetstream_stream import PARTITIONS, look, prepare, problems
from landfast.ports.journal import Journal
from landfast.sealing import Seal, values

_encode = msgspec.msgpack.Encoder().encode


class _Request(NamedTuple):
    deliveries: Sequence[Delivery]
    body: bytes | None
    """As one message; None when no message can hold it."""


class JetStreamJournal:
    def __init__(
        self, target: str, *, inbox: InboxId, mac_key: bytes, otherwise: Journal, seal: Seal | None = None
    ) -> None:
        """`otherwise` records what no message can hold: a body over the broker's limit. That is the inbox itself."""
        self._link = Link(read_address(target), role="intake")
        self._inbox = inbox
        self._mac = MessageMac(mac_key)
        self._seal = seal or Seal()
        self._otherwise = otherwise
        self._checked_at = 0
        self._largest = 0

    async def open(self) -> None:
        """ConfigError when the stream cannot be trusted. A broker that is away is waited for while we answer."""
        if not await self._link.open():
            telemetry.warn("journal_awaited", server=self._link.address.shown)
            return
        try:
            await self._check(await self._link.client())
        except JournalUnavailableError as error:
            telemetry.warn("journal_awaited", error=error)

    async def close(self) -> None:
        await self._link.close()

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        """Crash before the acknowledgements: nobody was answered, the senders come again. After them: the messages are
        durable, and drainers find them."""
        await self._ready()
        asked = [_Request(request, _body(request, self._largest, self._seal)) for request in requests(deliveries)]
        fits = [request for request in asked if request.body is not None]
        large = [delivery for request in asked if request.body is None for delivery in request.deliveries]
        # By place in memory, and in order: the same delivery may be there twice.
        rows: defaultdict[int, deque[Recorded]] = defaultdict(deque)
        if large:
            # Before the others: if the inbox is away, none of them is appended yet, and they come again without these.
            for delivery, row in zip(large, await self._record_large(large), strict=True):
                rows[id(delivery)].append(row)
        acks = await self._link.append([self._message(request) for request in fits])
        for request, ack in zip(fits, acks, strict=True):
            for delivery, row in _recorded(request.deliveries, is_new=not ack.duplicate):
                rows[id(delivery)].append(row)
        return [rows[id(delivery)].popleft() for delivery in deliveries]

    async def hazards(self) -> Sequence[str]:
        """A sentence for each setting of the stream's under which what it acknowledges could be lost: it may have been
        changed since we connected."""
        found = await look(self._link)
        if found is None:
            raise JournalUnavailableError(f"journal: there is no stream {self._link.address.stream} any more")
        return [f"journal: {problem}" for problem in problems(found.config, self._link.address, self._inbox)]

    async def _record_large(self, large: Sequence[Delivery]) -> Sequence[Recorded]:
        try:
            return await self._otherwise.record(large)
        except UnavailableError as error:
            events = frozenset(delivery.event_id for delivery in large)
            raise PartUnavailableError(f"no message holds it, and the inbox is away: {error}", events=events) from None

    async def _ready(self) -> None:
        client = await self._link.client()
        if self._checked_at != self._link.times_connected:
            try:
                await self._check(client)
            except ConfigError as error:  # found out too late to refuse the start
                raise JournalUnavailableError(str(error)) from None

    def _message(self, request: _Request) -> Message:
        lane, body = str(partition_of(request.deliveries[0])), request.body or b""
        return Message(lane, body, self._mac.message_id(request.deliveries), self._mac.headers(lane, body))

    async def _check(self, client: Client) -> None:
        """Over every new connection: it may lead to another server, or to one that lost its stream."""
        connection = self._link.times_connected
        found = await prepare(self._link, self._inbox, create=self._checked_at == 0)
        self._largest = found.room(client.max_payload)
        self._checked_at = connection


def partition_of(delivery: Delivery) -> int:
    """The same for all events of a lane, whichever intake took them; an event without an entity is a lane alone."""
    lane = f"{delivery.source}\0{delivery.key if delivery.entity is None else delivery.entity}"
    return zlib.crc32(lane.encode("utf-8", "surrogatepass")) % PARTITIONS


def _body(request: Sequence[Delivery], largest: int, seal: Seal) -> bytes | None:
    once = {delivery.mark: delivery for delivery in reversed(request)}
    try:
        body = _encode(values.carry(seal, reversed(once.values())))
    except UnicodeEncodeError:  # half a surrogate pair in a key: the inbox knows what to do with it
        return None
    return body if len(body) <= largest else None


def _recorded(request: Sequence[Delivery], *, is_new: bool) -> Iterator[tuple[Delivery, Recorded]]:
    """Of two copies of one event in a request the first is new."""
    seen: set[SeenMark] = set()
    for delivery in request:
        is_first = delivery.mark not in seen
        yield delivery, Recorded(delivery.event_id, is_new=is_new and is_first, in_inbox=False)
        seen.add(delivery.mark)
