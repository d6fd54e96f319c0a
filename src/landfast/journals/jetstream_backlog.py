"""What a JetStream journal holds, for drainers: taken in batches, acknowledged after the inbox's COMMIT.

Each partition of the lanes has one durable consumer, and every drainer asks all of them, each beginning with another.
So a deep backlog is shared out by partition, and the events of a lane mostly meet one drainer at a time; yet none of
them owns a partition, and when one dies the others take its messages as soon as the broker offers them again.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from landfast import telemetry
from landfast.domain.delivery import Delivery
from landfast.domain.errors import ConfigError, JournalUnavailableError, MasterKeyMissingError, SealedError
from landfast.domain.ids import InboxId
from landfast.journals.jetstream_address import read_address
from landfast.journals.jetstream_link import ANSWER_SECONDS, Link, Message
from landfast.journals.jetstream_mac import HEADER, MessageMac
from landfast.journals.jetstream_stream import ASIDE, FOREIGN, NANOSECONDS, PARTITIONS, look, prepare
from landfast.ports.backlog import Taken
from landfast.sealing import Seal, values

REDELIVERY_SECONDS = 30.0
"""Seconds without an acknowledgement. The inbox has ten to answer a batch, and a batch may be cut several times around
a row that it refuses; a message that is offered again too early only costs a look at what is known."""

MESSAGES_IN_HAND = 2000
"""Messages of one partition that are with drainers, at most: four full batches, so that what a dead one holds does not
stop the others."""

TAKEN_BYTES = 8 * 1024 * 1024
"""Of one batch, about: what the inbox is given in one statement. One message may be larger, or it could never be
taken."""

REMEMBERED_MESSAGES = 50_000
"""Messages that this process knows it has brought over: those of some seconds, which is when a lost acknowledgement
shows."""

WHY_BYTES = 60
"""Of the reason that a message set aside carries: with it, a message that was as large as can be still fits."""

FOREIGN_LINE_SECONDS = 60.0
"""Seconds between two lines about foreign messages."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Delivery]).decode


class JetStreamBacklog:
    def __init__(
        self,
        target: str,
        *,
        inbox: InboxId,
        mac_key: bytes,
        start: int = 0,
        offered_again_after: float = REDELIVERY_SECONDS,
        seal: Seal | None = None,
    ) -> None:
        """`start` is any number: the partition that it asks first."""
        self._link = Link(read_address(target), role="drainer")
        self._inbox = inbox
        self._mac = MessageMac(mac_key)
        self._seal = seal or Seal()
        self._start = start % PARTITIONS
        self._offered_again_after = offered_again_after
        self._checked_at = 0
        self._room = 0
        self._heard: asyncio.Queue[Msg] = asyncio.Queue()
        self._heard_by: Client | None = None
        self._prefix = ""
        self._round = 0
        self._done: set[tuple[int, float]] = set()
        self._done_in_order: deque[tuple[int, float]] = deque()
        self.waiting = 0
        """Messages in the stream, when it was asked last; those that a drainer has in hand among them."""
        self.redelivered = 0
        """Messages that were offered to this drainer, and had been offered to one before."""
        self.foreign = 0
        """Messages that no intake of this inbox wrote."""
        self._told_of_foreign_at = -math.inf
        self._keys_missing: set[str] = set()

    async def open(self) -> None:
        """ConfigError when the stream cannot be trusted; a broker that is away is waited for by `take`."""
        if await self._link.open():
            with suppress(JournalUnavailableError):
                await self._ready(create=True)

    async def close(self) -> None:
        await self._link.close()

    async def take(self, limit: int) -> Sequence[Taken]:
        try:
            client = await self._ready(create=False)
        except ConfigError as error:
            raise JournalUnavailableError(str(error)) from None
        found = await look(self._link)
        if found is None:
            raise JournalUnavailableError(f"journal: there is no stream {self._link.address.stream} any more")
        self.waiting = found.backlog
        wanted = share(found.waiting, limit, start=self._start)
        messages = await self._pull(client, wanted)
        if wanted and len(messages) < sum(wanted.values()):
            # Somebody else has these in hand, perhaps somebody dead: look further next time.
            self._start = (list(wanted)[-1] + 1) % PARTITIONS
        # Once each: one that was offered again while its first copy waited here would be taken for a duplicate.
        once = {_mark(message): message for message in messages}
        return [taken for message in once.values() if (taken := await self._opened(message)) is not None]

    async def forget(self, taken: Sequence[Taken]) -> None:
        for each in taken:
            self._remember(each.handle)
        with suppress(JournalUnavailableError):  # then they are offered again, and the inbox, or we, know them
            await self._say(b"+ACK", taken)

    async def give_back(self, taken: Sequence[Taken]) -> None:
        # Without a delay: this inbox connection failed, and another drainer's may work.
        with suppress(JournalUnavailableError):  # then they are offered again by themselves, later
            await self._say(b"-NAK", taken)

    async def set_aside(self, taken: Taken, why: str) -> None:
        await self._keep(ASIDE, taken, why)

    async def _keep(self, lane: str, taken: Taken, why: str) -> None:
        """In the same stream, under a subject that nobody takes from; what is none of our messages, as it is. Crash
        before it: it is offered again. Between it and the acknowledgement: it is set aside again, and the stream knows
        its id."""
        message: Msg = taken.handle
        # Cut: one that somebody else made as large as can be has no room for our headers, and would stay for ever.
        data = _encode(values.carry(self._seal, taken.deliveries)) if taken.deliveries else message.data[: self._room]
        known_by = f"{lane}-{message.metadata.sequence.stream}"
        headers = {"Landfast-Why": why.encode("ascii", "replace")[:WHY_BYTES].decode()}
        await self._link.append([Message(lane, data, known_by, headers)])
        await self._say(b"+ACK", [taken])

    async def _ready(self, *, create: bool) -> Client:
        client = await self._link.client()
        if self._checked_at != self._link.times_connected:
            connection = self._link.times_connected
            found = await prepare(self._link, self._inbox, create=create, to_append=create)
            self._room = found.room(client.max_payload)
            await asyncio.gather(*[self._make_consumer(partition) for partition in range(PARTITIONS)])
            await self._listen(client)
            self._checked_at = connection
        return client

    async def _listen(self, client: Client) -> None:
        """For messages, and for the word that there are no more. It lasts as long as the client, over reconnections."""
        if client is not self._heard_by:
            self._prefix, self._heard_by = client.new_inbox(), client
            await client.subscribe(f"{self._prefix}.*", cb=self._heard.put)

    async def _make_consumer(self, partition: int) -> None:
        name = _consumer(partition)
        settings = {
            "durable_name": name,
            "filter_subject": self._link.address.subject(str(partition)),
            "ack_policy": "explicit",
            "ack_wait": int(self._offered_again_after * NANOSECONDS),
            "max_deliver": -1,  # an event is never given up because it was offered often
            "max_ack_pending": MESSAGES_IN_HAND,
        }
        stream = self._link.address.stream
        answer = await self._link.ask(
            f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": settings, "action": ""}
        )
        if error := answer.get("error"):
            raise JournalUnavailableError(f"journal: consumer {name}: {error.get('description')}")

    async def _pull(self, client: Client, wanted: Mapping[int, int]) -> Sequence[Msg]:
        """What is there of each at once. A message says by its subject which partition it is of; an answer without one
        says that there is no more."""
        self._round += 1
        open_ones = {self._link.address.subject(str(partition)): count for partition, count in wanted.items()}
        replies = {f"{self._prefix}.{self._round}-{name.rpartition('.')[2]}": name for name in open_ones}
        found: list[Msg] = []
        most = max(TAKEN_BYTES // max(1, len(wanted)), 2 * client.max_payload)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                for reply, name in replies.items():
                    asked = msgspec.json.encode({"batch": open_ones[name], "max_bytes": most, "no_wait": True})
                    await client.publish(self._next(name), asked, reply=reply)
                while open_ones:
                    answer = await self._heard.get()
                    if answer.reply:
                        found.append(answer)
                        _count_down(open_ones, answer.subject)
                    elif answer.subject in replies:
                        open_ones.pop(replies[answer.subject], None)
                        self._heed(answer)
        except (NatsError, OSError, TimeoutError) as error:
            if not found:  # otherwise what came is worth more than why no more did
                self._checked_at = 0
                raise JournalUnavailableError(
                    f"journal: no messages from {self._link.address.shown}: {error!r}"
                ) from None
        return found

    def _next(self, subject: str) -> str:
        consumer = _consumer(int(subject.rpartition(".")[2]))
        return f"$JS.API.CONSUMER.MSG.NEXT.{self._link.address.stream}.{consumer}"

    def _heed(self, answer: Msg) -> None:
        if (answer.headers or {}).get("Status") == "503":  # its consumer has no leader, or is gone: make it again
            self._checked_at = 0

    async def _opened(self, message: Msg) -> Taken | None:
        """None for one that is dealt with already."""
        if message.metadata.num_delivered > 1:
            self.redelivered += 1
        taken = Taken((), message)
        if _mark(message) in self._done:
            # Our acknowledgement was lost. It is counted already, and would be counted once more as a duplicate.
            await self._say(b"+ACK", [taken])
            return None
        if not self._is_ours(message):
            await self._expel(taken)
            return None
        try:
            return Taken(values.open_carried(self._seal, _decode(message.data)), message)
        except MasterKeyMissingError as error:  # it is offered again, and waits for whoever has it
            if str(error) not in self._keys_missing:
                telemetry.error("journal_key_missing", error=error)
            self._keys_missing.add(str(error))
            return None
        except (msgspec.MsgspecError, UnicodeDecodeError, SealedError) as error:
            telemetry.error("journal_message_unreadable", subject=message.subject, error=error)
            await self.set_aside(taken, "not a delivery")
            return None

    def _is_ours(self, message: Msg) -> bool:
        lane = message.subject.rpartition(".")[2]
        if HEADER not in (message.headers or {}) and self._link.address.takes_foreign:
            return True  # of an intake from before there was a MAC, as the operator says
        return self._mac.proves(lane, message.data, message.headers)

    async def _expel(self, taken: Taken) -> None:
        """Keep what no intake of this inbox wrote where somebody can look at it. It is told once a minute: who
        publishes many messages must not fill the log as well."""
        self.foreign += 1
        now = asyncio.get_running_loop().time()
        if now - self._told_of_foreign_at >= FOREIGN_LINE_SECONDS:
            self._told_of_foreign_at = now
            subject = self._link.address.subject(FOREIGN)
            telemetry.error("journal_messages_foreign", count=self.foreign, kept=subject)
        await self._keep(FOREIGN, taken, "no intake of this inbox wrote it")

    def _remember(self, message: Msg) -> None:
        self._done.add(mark := _mark(message))
        self._done_in_order.append(mark)
        if len(self._done_in_order) > REMEMBERED_MESSAGES:
            self._done.discard(self._done_in_order.popleft())

    async def _say(self, word: bytes, taken: Sequence[Taken]) -> None:
        client = await self._link.client()
        try:
            for each in taken:
                await client.publish(each.handle.reply, word)
        except (NatsError, OSError) as error:
            raise JournalUnavailableError(f"journal: {error!r}") from None


def share(waiting: Mapping[int, int], limit: int, *, start: int) -> dict[int, int]:
    """How many messages to ask of each partition: about `limit` in all, beginning with `start`."""
    wanted: dict[int, int] = {}
    for partition in sorted(waiting, key=lambda each: (each - start) % PARTITIONS):
        if limit <= 0:
            break
        wanted[partition] = min(waiting[partition], limit)
        limit -= wanted[partition]
    return wanted


def _consumer(partition: int) -> str:
    return f"drain-{partition}"


def _count_down(open_ones: dict[str, int], subject: str) -> None:
    if subject in open_ones:
        open_ones[subject] -= 1
        if open_ones[subject] == 0:
            del open_ones[subject]


def _mark(message: Msg) -> tuple[int, float]:
    """One message for ever. A stream that is made anew counts from one again, at a later time."""
    about: Any = message.metadata
    return about.sequence.stream, about.timestamp.timestamp()
