"""What handlers and effects say they use: whether it is away, and at which rate it is called.

A failure that says "away" (`judge.is_away`) may be the dependency's, so it is held against nobody at first. It counts
against an event only if the dependency has served somebody else since the same event's failure before: then it is the
event's own. After a few failures in a row the dependency's breaker opens, for everything that uses it.

When a probe finds it back, those that waited go through at a growing rate, up to the ceiling that `rate` sets. All
workers share one turnstile for that, in the inbox (`domain.turnstile`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from math import inf

from landfast import telemetry
from landfast.domain.dependency import RATE_WITHOUT_CEILING, Dependency
from landfast.domain.errors import StoreError
from landfast.domain.fault import Fault
from landfast.domain.turnstile import Passage
from landfast.domain.verdict import WaitFor
from landfast.ports.turnstile import Turnstiles
from landfast.processing.control.breakers import DEPENDENCY_PREFIX, HANDLER_PREFIX, Breakers, Turn
from landfast.processing.control.switches import Pauses
from landfast.processing.handlers.error_text import line_of, logged
from landfast.processing.handlers.registry import Handler
from landfast.processing.judge import asked_delay, http_status, is_away
from landfast.processing.work import Deferred, Done, Failed, Paused, Result, Work

AWAY_IN_A_ROW_TO_OPEN = 5
"""Failures without a success in between. Of a service that fails one call in ten, one in a hundred thousand of them."""

EXCUSED_SECONDS = 1.0
"""Until an event is tried again whose failure was not counted, and the breaker is not open yet; and until an effect is
looked at again while another one is the probe."""

ASKED_SECONDS_AT_MOST = 300.0
"""For which a Retry-After keeps a breaker open: five minutes of everybody's events are much for one answer."""

FAILURES_REMEMBERED = 10_000
"""Of one dependency. One that is forgotten is excused once more."""

PAUSED_EFFECT_SECONDS = 10.0
"""Between two looks at an effect whose dependency an operator has paused: effects have no shelf that nobody polls."""

AWAY_INBOX_SECONDS = 1.0
"""The turnstile did not answer: so long until it is asked again."""

TURN_LOOK_SECONDS = 0.1
"""Between two looks at what comes back while there is a queue: with longer ones it would come in bursts."""


@dataclass(slots=True)
class Experience:
    """What this worker knows of one dependency, besides its breaker."""

    away_in_a_row: int = 0
    served_at: float = -inf
    back_at: float = -inf
    """When a probe of ours found it back."""
    failed_at: OrderedDict[Hashable, float] = field(default_factory=OrderedDict)
    """When each event or effect failed last."""

    def failed(self, who: Hashable, now: float) -> float:
        """When it failed before."""
        before = self.failed_at.pop(who, inf)
        self.failed_at[who] = now
        if len(self.failed_at) > FAILURES_REMEMBERED:
            self.failed_at.popitem(last=False)
        self.away_in_a_row += 1
        return before


@dataclass(slots=True)
class Dependencies:
    breakers: Breakers
    stiles: Turnstiles
    declared: Mapping[str, Dependency]
    pauses: Pauses
    _known: dict[str, Experience] = field(default_factory=dict)
    _queued_until: float = -inf

    def turn_of(self, handler: Handler) -> AbstractContextManager[Turn | Paused]:
        """As `Breakers.turn_of`, for a handler and all that it uses."""
        return self.breakers.turn_of(f"{HANDLER_PREFIX}{handler.name}", *map(breaker_of, handler.uses))

    @asynccontextmanager
    async def turn_of_effect(self, uses: Sequence[str]) -> AsyncIterator[float | None]:
        """In how many seconds it may be tried; None for now, and then the end of the turn ends the probing."""
        if self.pauses.switch_of_any(uses):
            yield PAUSED_EFFECT_SECONDS + await self._place(uses[0])
            return
        with self.breakers.turn_of(*map(breaker_of, uses)) as turn:
            if turn is Turn.ALL:
                passage = await self.admit(uses, wanted=1, behind=0)
                yield None if passage.granted else passage.waits[0]
            elif turn is Turn.ONE:
                yield None
            else:
                yield await self._wait(uses)

    async def admit(self, uses: Sequence[str], *, wanted: int, behind: int) -> Passage:
        """How many may begin now, at the rate of each; if not all of them may, when the others and those behind them
        come back."""
        granted, waits = wanted, tuple[float, ...]()
        for name in uses:
            rate = self._dependency(name).rate_after(self.breakers.clock.monotonic() - self._experience(name).back_at)
            if rate is not None and granted:
                passage = await self._let_through(name, granted, 0 if waits else behind, rate)
                granted, waits = passage.granted, passage.waits + waits
        return Passage(granted, waits)

    def look_seconds(self, usually: float) -> float:
        """How soon to look for what comes back."""
        is_queued = self.breakers.clock.monotonic() < self._queued_until
        return min(usually, TURN_LOOK_SECONDS) if is_queued else usually

    def learn(self, handler: Handler, results: Mapping[Work, Result]) -> dict[Work, Result]:
        """As `Breakers.learn`, and of what the handler uses."""
        if not handler.uses:
            return self.breakers.learn(handler.name, results)
        return {work: self._learned(handler, work, result) for work, result in results.items()}

    def blamed(self, uses: Sequence[str], error: BaseException) -> str | None:
        """Which of them an error says is away. One that names none can only be meant if there is only one."""
        try:
            if isinstance(error, WaitFor):
                return error.dependency if error.dependency in uses else None
            return uses[0] if len(uses) == 1 and is_away(error) else None
        except BaseException as unexpected:  # noqa: BLE001 - to learn from an error is to read it, and its class is the user's
            telemetry.error("not_learned_from", error=logged(unexpected))
            return None

    def found_away(
        self, name: str, who: Hashable, error: BaseException, *, has_waited_enough: bool = False
    ) -> Deferred | Paused | None:
        """What an event or effect comes to whose failure is not counted; None where it is."""
        own, now = self._experience(name), self.breakers.clock.monotonic()
        breaker = self.breakers.breaker(breaker_of(name))
        was_probe, is_its_own = breaker.is_probing, own.served_at > own.failed(who, now)
        asked = asked_delay(error, self.breakers.clock.now()) or 0.0
        if breaker.is_open or isinstance(error, WaitFor) or own.away_in_a_row >= AWAY_IN_A_ROW_TO_OPEN:
            # Its class and place alone: it is in the log, and for all workers in the inbox, where no erasure finds it.
            self.breakers.open(breaker_of(name), logged(error), at_least=min(asked, ASKED_SECONDS_AT_MOST))
        if has_waited_enough or (is_its_own and not breaker.is_open):
            return None
        if was_probe:
            # For two waits, so that another one is the next probe: this one may be what cannot be answered.
            return Deferred("dependency", 2 * breaker.remaining(now), line_of(error), is_away=True)
        return self.breakers.refusal(breaker_of(name)) or Deferred(
            "dependency", max(asked, EXCUSED_SECONDS), line_of(error), is_away=True
        )

    def served(self, uses: Sequence[str], who: Hashable) -> None:
        """They have all answered it."""
        now = self.breakers.clock.monotonic()
        for name in uses:
            own = self._experience(name)
            own.served_at, own.away_in_a_row = now, 0
            own.failed_at.pop(who, None)
            if self.breakers.close(breaker_of(name)):
                own.back_at = now
                telemetry.info("dependency_back", dependency=name)

    def refused(self, uses: Sequence[str], who: Hashable, error: BaseException) -> None:
        """It failed, and none of them is away. If there is only one, and the error is its answer, then it answers."""
        if len(uses) == 1 and _was_answered(error):
            self.served(uses, who)

    def remaining(self, uses: Sequence[str]) -> float:
        """Seconds until the next probe of those that are away."""
        now = self.breakers.clock.monotonic()
        return max((self.breakers.breaker(breaker_of(name)).remaining(now) for name in uses), default=0.0)

    def _learned(self, handler: Handler, work: Work, result: Result) -> Result:
        who = work.claim.event_id
        if isinstance(result, Failed) and result.fault is Fault.OTHER:
            if name := self.blamed(handler.uses, result.error):
                self.breakers.ledger_answers()
                enough = self.breakers.has_waited_enough(work)
                return self.found_away(name, who, result.error, has_waited_enough=enough) or result
            self.refused(handler.uses, who, result.error)
        elif isinstance(result, Done) and result.ran:
            self.served(handler.uses, who)
        return self.breakers.learn(handler.name, {work: result})[work]

    async def _wait(self, uses: Sequence[str]) -> float:
        """For an effect while something it uses is away: until the next probe, or for its place in the queue."""
        away = next((name for name in uses if self.breakers.refusal(breaker_of(name))), uses[0])
        return max(self.remaining(uses), EXCUSED_SECONDS, await self._place(away))

    async def _place(self, name: str) -> float:
        """Seconds until the end of the queue."""
        (wait,) = (await self._let_through(name, 0, 1, self._ceiling(name))).waits
        return wait

    async def _let_through(self, name: str, wanted: int, behind: int, rate: float) -> Passage:
        spacing = self._ceiling(name)
        try:
            passage = await self.stiles.let_through(name, wanted=wanted, behind=behind, rate=rate, spacing=spacing)
        except StoreError:  # whoever settles next says that the inbox is away
            passage = Passage(0, (AWAY_INBOX_SECONDS,) * (wanted + behind))
        if passage.waits:
            self._queued_until = max(self._queued_until, self.breakers.clock.monotonic() + max(passage.waits))
        return passage

    def _ceiling(self, name: str) -> float:
        return self._dependency(name).rate or RATE_WITHOUT_CEILING

    def _dependency(self, name: str) -> Dependency:
        return self.declared.get(name) or Dependency(name)

    def _experience(self, name: str) -> Experience:
        return self._known.setdefault(name, Experience())


def breaker_of(dependency: str) -> str:
    return f"{DEPENDENCY_PREFIX}{dependency}"


def _was_answered(error: BaseException) -> bool:
    """By a status that is not `away`: a 404 is an answer."""
    try:
        return http_status(error) is not None and not is_away(error)
    except BaseException as unexpected:  # noqa: BLE001 - to learn from an error is to read it, and its class is the user's
        telemetry.error("not_learned_from", error=logged(unexpected))
        return False
