"""One connection to a broker: it comes back by itself, and whoever asks while it is away is told so soon."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from landfast.domain.errors import JournalUnavailableError
from landfast.journals.jetstream_address import BrokerAddress

CONNECT_WITHIN = 2.0
"""Seconds for one server to greet us; the next of them is tried then."""

RETURN_WITHIN = 0.5
"""Seconds that a caller waits for a connection that is away. A cluster's next server answers within milliseconds; who
waits longer would only delay the spool, or the 503."""

TRY_AGAIN_AFTER = 0.25
"""Seconds between two attempts at one server: soon, and no load on one that is just starting."""

LISTEN_EVERY = 2.0
"""Seconds between pings. After three without an answer the connection is given up: a cable that was pulled says nothing
by itself."""

ANSWER_WITHIN = 3.0
"""Seconds for an answer of JetStream. An election of a stream's leader takes about as long, and most senders wait for
five at least."""

IN_PROCESS = 10158
"""JetStream's error for a message whose id it is just storing: somebody else sent it a moment ago."""

STORED_AFTER = 0.01
"""Seconds: about what the servers of a cluster take to agree on a message."""

LINK_POLL_SECONDS = 1.0
"""Seconds between two looks at whether the connection was given up."""

CLOSE_WITHIN = 1.0
"""Seconds for an orderly end: into a cable that was pulled, what is unsent can be neither sent nor dropped, and TCP
tries for a quarter of an hour."""


HEADERS_ROOM = 384
"""Bytes of a message's headers, which the server counts as part of it: its id, its stream, its MAC, and to spare for
the reason when it is set aside."""


class Message(NamedTuple):
    lane: str
    """The last word of its subject."""
    body: bytes
    known_by: str
    """The id under which the stream knows it again."""
    headers: Mapping[str, str] = MappingProxyType({})


class Refusal(msgspec.Struct, frozen=True):
    description: str = "no reason given"
    err_code: int = 0


class Ack(msgspec.Struct, frozen=True):
    """What the stream says of one message: it is durable, unless there is an error."""

    error: Refusal | None = None
    duplicate: bool = False

    @property
    def is_early(self) -> bool:
        """Whether it is no answer yet: another copy of the message is being stored, which is no promise."""
        return self.error is not None and self.error.err_code == IN_PROCESS


_decode_ack = msgspec.json.Decoder(Ack).decode


class Link:
    def __init__(self, address: BrokerAddress, *, role: str) -> None:
        """`role` is what the broker's own lists of connections call this one."""
        self.address = address
        self._role = role
        self._servers = list(address.servers)
        self._client: Client | None = None
        self._is_there = asyncio.Event()
        self._is_closing = False
        self._keeping: asyncio.Task[None] | None = None
        self._last_error = "no answer"
        self._prefix = ""
        self._asked = 0
        self._acks: dict[str, asyncio.Future[Ack]] = {}
        self.times_connected = 0
        """Grows with each connection: what was checked over an earlier one may be different now."""

    async def open(self) -> bool:
        """Begin to connect; whether it succeeded at once. If not, it goes on trying."""
        self._keeping = asyncio.create_task(self._keep())
        return await self._wait(CONNECT_WITHIN)

    async def close(self) -> None:
        self._is_closing = True
        if self._keeping is not None:
            self._keeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeping

    async def client(self) -> Client:
        """The connection. JournalUnavailableError while there is none."""
        if self._client is None:
            await self._wait(RETURN_WITHIN)
        if self._client is None:
            raise JournalUnavailableError(f"journal: no connection to {self.address.shown}: {self._last_error}")
        return self._client

    async def ask(self, subject: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One request to JetStream's own interface; its answer, which may be an `error`."""
        client = await self.client()
        try:
            asked = msgspec.json.encode(body) if body is not None else b""
            answer = await client.request(f"$JS.API.{subject}", asked, timeout=ANSWER_WITHIN)
        except (NatsError, OSError, TimeoutError) as error:
            where = f"journal: JetStream does not answer at {self.address.shown}"
            raise JournalUnavailableError(f"{where}: {_said(error)}") from None
        found: dict[str, Any] = msgspec.json.decode(answer.data)
        return found

    async def append(self, messages: Sequence[Message]) -> Sequence[Ack]:
        """Publish all of them, and wait for all of their acknowledgements together. JournalUnavailableError when one is
        refused, and as soon as one cannot come any more: nobody knows then what became of the messages."""
        client = await self.client()
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                acks = await self._publish(client, messages)
                while again := [place for place, ack in enumerate(acks) if ack.is_early]:
                    await asyncio.sleep(STORED_AFTER)
                    later = await self._publish(client, [messages[place] for place in again])
                    for place, ack in zip(again, later, strict=True):
                        acks[place] = ack
        except (NatsError, OSError, TimeoutError) as error:
            why = f"no answer within {ANSWER_WITHIN:g} s" if isinstance(error, TimeoutError) else _said(error)
            raise JournalUnavailableError(f"journal: {len(messages)} messages are not acknowledged: {why}") from None
        for ack in acks:
            if ack.error is not None:
                raise JournalUnavailableError(f"journal: a message is not acknowledged: {ack.error.description}")
        return acks

    async def _publish(self, client: Client, messages: Sequence[Message]) -> list[Ack]:
        start, self._asked = self._asked + 1, self._asked + len(messages)
        awaited: dict[str, asyncio.Future[Ack]] = {
            f"{self._prefix}.{number}": asyncio.get_running_loop().create_future()
            for number in range(start, self._asked + 1)
        }
        self._acks |= awaited

        async def publish() -> None:
            for reply, message in zip(awaited, messages, strict=True):
                subject, headers = self.address.subject(message.lane), self._headers(message)
                await client.publish(subject, message.body, reply=reply, headers=headers)

        try:
            await _apart(publish())
            return [await ack for ack in awaited.values()]
        finally:
            for reply in awaited:  # what comes later is not waited for
                del self._acks[reply]

    def _headers(self, message: Message) -> dict[str, str]:
        # Only the stream that was checked may take it: where it was deleted, another may listen to its subjects.
        named = {"Nats-Msg-Id": message.known_by, "Nats-Expected-Stream": self.address.stream}
        return named | dict(message.headers)

    async def _acknowledged(self, answer: Msg) -> None:
        # Without data it says that nobody listens to the subject.
        self._answer(answer.subject, _decode_ack(answer.data) if answer.data else Ack(Refusal("no stream takes it")))

    def _answer(self, reply: str, ack: Ack) -> None:
        awaited = self._acks.get(reply)
        if awaited is not None and not awaited.done():
            awaited.set_result(ack)

    async def _keep(self) -> None:
        """One connection after the other. The library could do that by itself, but not be stopped while it does: its
        cancellation is lost where an attempt fails in the same moment."""
        while not self._is_closing:
            client, lost = Client(), asyncio.Event()
            try:
                await self._connect(client, lost)
                await _end_of(client, lost)
            except Exception as error:  # noqa: BLE001 - whatever it was, the next attempt may succeed
                await self._note(error)
            finally:
                self._left()
                with suppress(Exception):  # one that was never connected, or is away: so much the better
                    async with asyncio.timeout(CLOSE_WITHIN):
                        await client.close()
            await asyncio.sleep(TRY_AGAIN_AFTER)

    async def _connect(self, client: Client, lost: asyncio.Event) -> None:
        async def left() -> None:
            lost.set()

        await client.connect(
            self._servers,
            name=f"landfast {self._role}",
            error_cb=self._note,
            closed_cb=left,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            connect_timeout=CONNECT_WITHIN,  # type: ignore[arg-type]  # seconds, whole or not
            reconnect_time_wait=0,
            ping_interval=LISTEN_EVERY,  # type: ignore[arg-type]
            user=self.address.credentials.get("user"),
            password=self.address.credentials.get("password"),
            token=self.address.credentials.get("token"),
        )
        prefix = client.new_inbox()
        await client.subscribe(f"{prefix}.*", cb=self._acknowledged)
        # It has named the others of its cluster: they are tried when this one is gone.
        self._servers = [server.geturl() for server in client.servers]
        self._prefix, self._client = prefix, client
        self.times_connected += 1
        self._is_there.set()

    def _left(self) -> None:
        self._client = None
        self._is_there.clear()
        for reply in self._acks:
            self._answer(reply, Ack(Refusal("the connection was lost")))

    async def _wait(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_there.wait()
        return self._is_there.is_set()

    async def _note(self, error: Exception) -> None:
        self._last_error = _said(error)


async def _apart(publishing: Coroutine[Any, Any, None]) -> None:
    """In a task of its own: while the library waits for room to write, it swallows a cancellation, and with it the end
    of our patience."""
    task = asyncio.create_task(publishing)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # looked at: perhaps nobody else will
    try:
        await asyncio.shield(task)
    finally:
        task.cancel()


async def _end_of(client: Client, lost: asyncio.Event) -> None:
    """Return when the connection is given up. The library tells of it once its socket is closed: that may take long."""
    while not (client.is_closed or lost.is_set()):
        with suppress(TimeoutError):
            async with asyncio.timeout(LINK_POLL_SECONDS):
                await lost.wait()


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__
