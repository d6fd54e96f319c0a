"""What all intakes know together, on a Redis or Valkey: the marks of events, and nothing else.

Key                          Value
lf:INBOX:EPOCH:mac:MARK      `=TAG` durable; `~BOOT` the intake of that boot is recording it; anything else is foreign
lf:INBOX:EPOCH:recent        a list of event ids that became durable in the inbox, the newest first
lf:INBOX:EPOCH:warm          `=` holds what is hot; `~BOOT` the intake of that boot is filling it now
lf:INBOX:turn                the intake of that boot is drawing a new epoch

The server is not trusted. A durable mark has a sender told that its event is stored; so it carries a MAC over its own
name, under a key that is in the inbox and not here. All else can only make intakes slower, and carries none.
Versions without a MAC had their marks at lf:INBOX:EPOCH:MARK. Those are never looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from hmac import compare_digest
from typing import Any, NamedTuple

from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.exceptions import RedisError, ResponseError

from landfast.domain.ids import EventId, InboxId, SeenMark
from landfast.domain.mac import Mac

ANSWER_SECONDS = 0.05
"""Seconds for an answer that a sender waits for: a hundred times what a healthy server takes, and not felt."""

CONNECT_SECONDS = 2.0
"""Seconds for everything that nobody waits for, and for connecting: TLS to another zone takes a few round trips."""

IN_FLIGHT_MILLISECONDS = 2000
"""Milliseconds: longer than a COMMIT takes, and short, because the intake that set the mark may have died."""

DURABLE_SECONDS = 4 * 3600
"""Seconds. Most redeliveries come within the first hours, and a later one costs the inbox one conflict. At a busy 1,000
events a second this is 14 million marks, about 2 GB; the server's eviction may shorten it."""

ELSEWHERE_SECONDS = 600
"""Seconds for what is durable in a spool or journal. It is not on the list of what the inbox must know, and one that
lost it would not be found out: the mark ends soon, and yet long after the first retries."""

RECENT_EVENTS = 10_000
"""Ids on the list, 250 KB. It must reach back further than one intake may lag behind another in telling (a queue of
5,000), or an older inbox could pass for the present one."""

TURN_MILLISECONDS = 2000
"""Milliseconds: longer than a few questions to the inbox take, and short, because whoever has the turn may die."""

WARMING_MILLISECONDS = 30_000
"""Milliseconds after which another intake may begin, if the one that was warming died."""

MARKS_PER_REQUEST = 500
"""Marks in one request: a few tenths of a millisecond in which the server serves nobody else."""

DURABLE_MARK = b"="
IN_FLIGHT_MARK = b"~"
_OPENING = b"-"
"""The first entry of every list: one that is there and empty differs from one that was evicted."""

UNANSWERED = (RedisError, OSError, TimeoutError)
"""All that may come instead of an answer."""

# Scripts, because one command with many keys costs a quarter of as many commands. `pcall`: a server that is full or
# read-only refuses to mark, and still says what it knows. MGET, because it takes a foreign type for nothing.
_LOOK = """
for place = 2, #KEYS do redis.pcall('SET', KEYS[place], ARGV[1], 'NX', 'PX', ARGV[2]) end
return redis.call('MGET', unpack(KEYS))
"""
# The list before the marks: no mark may be there of which the list never heard.
_REMEMBER = """
local marks = 2 + #KEYS
for place = marks + 1, #ARGV do redis.call(ARGV[2], KEYS[1], ARGV[place]) end
if #ARGV > marks then redis.call('LTRIM', KEYS[1], 0, ARGV[3] - 1) redis.call('EXPIRE', KEYS[1], ARGV[1]) end
for place = 2, #KEYS do redis.call('SET', KEYS[place], ARGV[2 + place], 'EX', ARGV[1]) end
"""


class Timeline(NamedTuple):
    """One life of one inbox. What was seen in another says nothing about it."""

    inbox: InboxId
    epoch: bytes
    mac: Mac

    @classmethod
    def under(cls, mac_key: bytes, inbox: InboxId, epoch: bytes) -> Timeline:
        return cls(inbox, epoch, Mac(mac_key, purpose=b"landfast mark"))

    def key(self, name: str) -> str:
        return f"lf:{self.inbox.hex()}:{self.epoch.hex()}:{name}"

    def keys(self, marks: Sequence[SeenMark]) -> list[str]:
        start = self.key("mac:")
        return [start + mark.hex() for mark in marks]

    def durable(self, mark: SeenMark) -> bytes:
        """What stands at a mark's key when it is durable. Copied to another mark, epoch or inbox it is wrong."""
        return DURABLE_MARK + self.mac.tag(self.inbox, self.epoch, mark)

    def is_durable(self, mark: SeenMark, value: bytes) -> bool:
        return compare_digest(value, self.durable(mark))


_NOWHERE = Timeline.under(b"", InboxId(b""), b"")
"""Where a probe leaves its mark."""


class RedisMarks:
    """Two connections: what senders wait for never stands behind what nobody waits for. Raises one of UNANSWERED."""

    def __init__(self, address: str, *, boot: bytes) -> None:
        """ValueError for an address that is none."""
        # Both speak the same protocol, and the client knows only the one name.
        url = address.replace("valkey", "redis", 1) if address.startswith("valkey") else address
        options: dict[str, Any] = {"socket_timeout": None, "socket_connect_timeout": CONNECT_SECONDS, "protocol": 2}
        make: Callable[[], AbstractConnection] = ConnectionPool.from_url(url, **options).make_connection
        self._asking, self._telling = _Line(make()), _Line(make())
        self._own = IN_FLIGHT_MARK + boot.hex().encode()

    async def connect(self) -> None:
        """Connect, or connect again, and look once, in the time that a sender would wait for it."""
        await self._telling.connect()
        await self._asking.connect()
        await self.look(_NOWHERE, [SeenMark(b"probe")])

    async def close(self) -> None:
        for line in (self._asking, self._telling):
            await line.close()

    async def look(self, timeline: Timeline, marks: Sequence[SeenMark]) -> tuple[Sequence[bytes | None], bool]:
        """Mark as in flight what has no mark yet; the marks that are there now, without our own, and whether what is
        hot is there."""
        keys = [timeline.key("warm"), *timeline.keys(marks)]
        warm, *found = await self._asking.ask(
            "EVAL", _LOOK, len(keys), *keys, self._own, IN_FLIGHT_MILLISECONDS, within=ANSWER_SECONDS
        )
        return [None if mark == self._own else mark for mark in found], warm is not None

    async def remember(
        self,
        timeline: Timeline,
        marks: Sequence[SeenMark],
        *,
        events: Sequence[EventId],
        lasting: int = DURABLE_SECONDS,
        is_old: bool = False,
    ) -> None:
        """They are durable, and these events are in the inbox. `is_old`: they were before those that the list has."""
        keys = [timeline.key("recent"), *timeline.keys(marks)]
        push = "RPUSH" if is_old else "LPUSH"
        values = [timeline.durable(mark) for mark in marks]
        await self._telling.ask("EVAL", _REMEMBER, len(keys), *keys, lasting, push, RECENT_EVENTS, *values, *events)

    async def recent(self, timeline: Timeline, count: int) -> Sequence[EventId] | None:
        """The newest of what the inbox must know. None: nobody can say any more."""
        try:
            found = await self._telling.ask("LRANGE", timeline.key("recent"), 0, count - 1)
        except ResponseError:
            return None  # foreign data
        return [EventId(each) for each in found if each != _OPENING] if found else None

    async def begin(self, timeline: Timeline) -> None:
        """The first to use a timeline: from now on its list is there."""
        await self.remember(timeline, (), events=[EventId(_OPENING)], is_old=True)

    async def take_turn(self, inbox: InboxId) -> bool:
        """Whether it is ours to draw an epoch, for a moment: two that draw at the same time would share nothing."""
        return await self._telling.ask("SET", _turn(inbox), self._own, "NX", "PX", TURN_MILLISECONDS) is not None

    async def end_turn(self, inbox: InboxId) -> None:
        await self._telling.ask("DEL", _turn(inbox))

    async def begin_warming(self, timeline: Timeline) -> bool:
        """Whether it is cold, and nobody else is warming it."""
        begun = await self._telling.ask("SET", timeline.key("warm"), self._own, "NX", "PX", WARMING_MILLISECONDS)
        return begun is not None

    async def end_warming(self, timeline: Timeline) -> None:
        await self._telling.ask("SET", timeline.key("warm"), DURABLE_MARK, "EX", DURABLE_SECONDS)

    async def about(self) -> dict[str, str]:
        """What the server says of itself."""
        text: bytes = await self._telling.ask("INFO")
        lines = [line.partition(":") for line in text.decode("utf-8", "replace").splitlines()]
        return {name: value for name, colon, value in lines if colon}


def _turn(inbox: InboxId) -> str:
    return f"lf:{inbox.hex()}:turn"


class _Line:
    """One connection, one question at a time. A question that was cut off leaves it unconnected, so that its answer is
    never taken for that of the next one."""

    def __init__(self, connection: AbstractConnection) -> None:
        self._connection = connection
        self._turn = asyncio.Lock()

    async def connect(self) -> None:
        async with asyncio.timeout(CONNECT_SECONDS), self._turn:
            await self._connection.disconnect(nowait=True)
            await self._connection.connect()  # type: ignore[no-untyped-call]

    async def close(self) -> None:
        await self._connection.disconnect()

    async def ask(self, *command: Any, within: float = CONNECT_SECONDS) -> Any:
        async with asyncio.timeout(within), self._turn:
            if not self._connection.is_connected:
                raise ConnectionError("not connected")
            await self._connection.send_command(*command, check_health=False)
            return await self._connection.read_response(disable_decoding=True)
