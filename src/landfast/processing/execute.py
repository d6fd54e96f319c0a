"""The spine of processing: what one claim of events comes to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from landfast.domain.ids import HandlerName
from landfast.domain.outcome import Claim, Settlement
from landfast.processing.conclude import Conclusion
from landfast.processing.fairness.pace import Pace
from landfast.processing.fairness.shares import Hold, Shares
from landfast.processing.group import Grouping
from landfast.processing.lanes import waves
from landfast.processing.prepare import Preparation
from landfast.processing.settlements import SLOW_NEIGHBOUR
from landfast.processing.work import BEHIND, ClaimedEvent, Deferred, Done, Failed, Work


@dataclass(frozen=True, slots=True)
class Execution:
    preparation: Preparation
    grouping: Grouping
    conclusion: Conclusion
    shares: Shares = field(default_factory=Shares)

    async def execute(self, claims: Sequence[Claim], pace: Pace, hold: Hold | None = None) -> list[Settlement]:
        """Prepare every event, run what has to run, and say what each comes to that was not let go of meanwhile."""
        hold = hold or Hold()
        hold.events = {claim.event_id: self.preparation.prepare(claim) for claim in claims}
        hold.walk.begin(hold.events.values())
        for works in self._in_turn(hold.events.values()):
            await self.grouping.run(works, hold, pace)
        pace.went(count=len(claims), seconds=sum(map(_seconds, hold.events.values())))
        self.shares.went(hold)
        return await self.conclusion.conclude(_taken(hold.events.values()))

    async def let_go(self, hold: Hold) -> list[Settlement]:
        """A handler is slow: what it does not run now is no longer this hand's. What is decided is settled. The rest
        goes back to the inbox untried, for other hands and other workers."""
        going = _taken(claimed for event, claimed in hold.events.items() if event not in hold.running)
        hold.let_go += len(going)
        for claimed in going:
            for work in claimed.works:
                # What is in a lane waits there: it is ready at once if nothing holds it up.
                is_in_lane = work.handler.ordered and claimed.claim.lane is not None
                claimed.results.setdefault(work, BEHIND if is_in_lane else Deferred(SLOW_NEIGHBOUR, 0.0))
        return await self.conclusion.conclude(going)

    def _in_turn(self, events: Collection[ClaimedEvent]) -> Iterator[list[Work]]:
        """What has to run, by handler: first what needs no order, and waits for nobody's lane."""
        yield from self._by_handler(work for claimed in events for work in claimed.works if not work.handler.ordered)
        for wave in waves(events):
            yield from self._by_handler(wave)

    def _by_handler(self, works: Iterable[Work]) -> list[list[Work]]:
        """Those that were slow the last time come last, so that nobody waits for them."""
        found: dict[HandlerName, list[Work]] = {}
        for work in works:
            found.setdefault(work.handler.name, []).append(work)
        return sorted(found.values(), key=lambda works: works[0].handler.name in self.shares.slow)


def _taken(events: Iterable[ClaimedEvent]) -> list[ClaimedEvent]:
    """Those that nobody has taken before: each is settled once."""
    taken = [claimed for claimed in events if not claimed.is_let_go]
    for claimed in taken:
        claimed.is_let_go = True
    return taken


def _seconds(claimed: ClaimedEvent) -> float:
    return sum(result.seconds for result in claimed.results.values() if isinstance(result, Done | Failed))
