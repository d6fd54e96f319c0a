"""Tell the user's own code of each dead letter: after the fact, at least once, and beside the processing of events.

For each function, one of the workers that know it walks through the lines of history that made events dead letters, and
keeps a message for each in the same COMMIT that says how far it has come. Any worker that knows the function takes the
message and calls it. Dead between the call and the end of the message: it is called again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from landfast import telemetry
from landfast.domain.errors import StoreError
from landfast.domain.ids import BootId, EventId
from landfast.domain.message import Death, Message, WaitingMessage
from landfast.domain.verdict import GiveUp
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.processing.handlers.error_text import logged
from landfast.processing.handlers.registry import DeadHook
from landfast.processing.handlers.threads import Threads
from landfast.processing.invoke import HandlerRaisedError, Watch, invoke
from landfast.recovery.dead_letters import DeadLetter, dead_letter

TASK = "dead letters"
SINK = "on_dead/"
"""What the name of a message's receiver begins with."""

POLL_SECONDS = 5.0
"""Between two looks at the history: nobody waits for it."""

LEAD_SECONDS = 60.0
DEATHS_AT_ONCE = 500
CALLS_AT_ONCE = 4
"""A thousand dead letters are no reason to open a thousand connections to a chat."""

FIRST_RETRY_SECONDS = 10.0
LONGEST_RETRY_SECONDS = 3_600.0
TRIES_AT_MOST = 80
"""Three days, at that: a function that was broken on Friday may be mended on Monday."""


class About(msgspec.Struct, frozen=True):
    """What a message says."""

    event: str
    run: int


class DeadHooks:
    def __init__(self, inbox: Inbox, hooks: Sequence[DeadHook], clock: Clock, chance: Chance) -> None:
        self._inbox = inbox
        self._hooks = {SINK + hook.name: hook for hook in hooks}
        self._clock = clock
        self._who = BootId(chance.bytes(8))
        self._threads = Threads()
        self._watch = Watch(lambda: None)  # one that hangs is left behind, and its worker lives on
        self._error = ""

    async def run(self) -> None:
        """For ever, whatever happens."""
        while True:
            try:
                await self.look()
                self._error = ""
            except StoreError as error:
                if self._error != str(error):
                    telemetry.warn("dead_letters_not_walked", error=error)
                self._error = str(error)
            except Exception as error:  # noqa: BLE001 - a look that fails must not be the last one
                telemetry.error("dead_hooks_failed", trace=error)
            await self._clock.sleep(POLL_SECONDS)

    async def look(self) -> None:
        """Once: find who died, and tell those who wait."""
        for sink in self._hooks:
            # Each by itself: of two applications on one inbox, neither knows the functions of the other.
            if await self._inbox.lead(f"{TASK}/{sink}", who=self._who, lasting=LEAD_SECONDS) is not None:
                while await self._walk(sink):
                    pass
        while taken := await self._inbox.take_messages([*self._hooks], limit=CALLS_AT_ONCE, lease=self._lease()):
            await asyncio.gather(*(self._tell(waiting) for waiting in taken))

    def close(self) -> None:
        self._threads.close()

    async def _walk(self, sink: str) -> bool:
        """Whether there may be more. A function that is new hears of what dies from now on."""
        seen = await self._inbox.walked_to(sink)
        if seen is None:
            await self._inbox.walk_on(sink, seen=None, upto=await self._inbox.newest_line(), messages=())
            return False
        if await self._inbox.newest_line() <= seen:
            return False
        upto = await self._inbox.complete_to()
        if upto <= seen:
            return False
        found = await self._inbox.deaths(after=seen, upto=upto, limit=DEATHS_AT_ONCE)
        is_full = len(found) == DEATHS_AT_ONCE
        messages = [_message(sink, death) for death in found]
        end = found[-1].seq if is_full else upto
        return await self._inbox.walk_on(sink, seen=seen, upto=end, messages=messages) and is_full

    async def _tell(self, waiting: WaitingMessage) -> None:
        message, hook = waiting.message, self._hooks[waiting.message.sink]
        letter = await self._letter(msgspec.json.decode(message.content, type=About))
        if letter is None:  # replayed or erased meanwhile: it is no dead letter any more
            await self._inbox.drop_message(message)
            return
        try:
            await invoke(
                partial(hook.function, letter),
                is_async=hook.is_async,
                deadline=hook.deadline,
                threads=self._threads,
                watch=self._watch,
            )
        except HandlerRaisedError as raised:
            await self._failed(waiting, hook, letter, raised.error)
        else:
            await self._inbox.drop_message(message)

    async def _letter(self, about: About) -> DeadLetter | None:
        record = await self._inbox.show(EventId(bytes.fromhex(about.event)))
        letter = None if record is None else dead_letter(record)
        return letter if letter is not None and letter.run == about.run else None

    async def _failed(self, waiting: WaitingMessage, hook: DeadHook, letter: DeadLetter, error: BaseException) -> None:
        event, told = letter.event_id, logged(error)  # not its text, which may hold what a sealed inbox hides
        if isinstance(error, GiveUp) or waiting.tries >= TRIES_AT_MOST:
            telemetry.error("dead_hook_gave_up", hook=hook.name, event=event, error=told)
            await self._inbox.put_off_message(waiting.message, due_in=None, error=told)
            return
        pause = min(FIRST_RETRY_SECONDS * 2.0 ** min(waiting.tries - 1, 10), LONGEST_RETRY_SECONDS)
        telemetry.warn("dead_hook_failed", hook=hook.name, event=event, error=told, retry_seconds=f"{pause:g}")
        await self._inbox.put_off_message(waiting.message, due_in=pause, error=told)

    def _lease(self) -> float:
        return max(hook.deadline for hook in self._hooks.values()) + 60.0


def _message(sink: str, death: Death) -> Message:
    about = About(death.event.hex(), death.run)
    return Message(f"{about.event}-{death.seq}", sink, msgspec.json.encode(about).decode())


@asynccontextmanager
async def telling_of_deaths(
    inbox: Inbox, hooks: Sequence[DeadHook], clock: Clock, chance: Chance
) -> AsyncIterator[None]:
    if not hooks:
        yield
        return
    telling = DeadHooks(inbox, hooks, clock, chance)
    running = asyncio.create_task(telling.run(), name="landfast dead letters")
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])
        telling.close()
