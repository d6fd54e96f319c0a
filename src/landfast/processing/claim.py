"""What a hand claims next: the oldest events, or one handler's in its turn where handlers have to share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from landfast.domain.ids import Token
from landfast.domain.outcome import Claim
from landfast.ports.inbox import Workbench
from landfast.processing.fairness.pace import Pace
from landfast.processing.fairness.shares import Choice, Hold, Shares, sharers_of
from landfast.processing.prepare import Preparation


@dataclass(frozen=True, slots=True)
class Taken:
    claims: Sequence[Claim]
    pace: Pace
    """By which they are run."""
    is_more: bool
    """There may be more that this worker might take now."""


@dataclass(slots=True)
class Claiming:
    bench: Workbench
    shares: Shares
    preparation: Preparation
    lease: float
    _is_backlog: bool = False
    """The last claim left something behind, or passed it over."""

    async def claim(self, hold: Hold, pace: Pace, *, token: Token, is_probe: bool) -> Taken:
        """Claim the oldest events, in one statement, while there is room for all handlers and no backlog. Otherwise
        look at what waits, and claim events of one handler."""
        if self.shares.matter and (hold.full or self._is_backlog):
            taken = await self._in_turn(hold, pace, token=token, is_probe=is_probe)
        else:
            limit = 1 if is_probe else pace.size
            claims = await self.bench.claim(token=token, lease=self.lease, limit=limit)
            taken = Taken(claims, pace, is_more=len(claims) == limit)
            flows = {(claim.source, claim.type) for claim in claims}
            hold.sharers = frozenset().union(
                *(sharers_of(flow[0], self.preparation.handlers_of(*flow)) for flow in flows)
            )
        # What was passed over is remembered: a claim of the oldest events would take what is kept free for others.
        self._is_backlog = taken.is_more or self.shares.has_passed_over
        return taken

    async def _in_turn(self, hold: Hold, pace: Pace, *, token: Token, is_probe: bool) -> Taken:
        choice, is_all = await self._look(hold)
        if choice is None:
            hold.sharers = frozenset()
            return Taken((), pace, is_more=False)
        hold.sharers = choice.sharers
        limit = 1 if is_probe else choice.pace.size
        claims = await self.bench.claim(token=token, lease=self.lease, limit=limit, flows=choice.flows)
        return Taken(claims, choice.pace, is_more=len(claims) == limit or not (choice.is_last and is_all))

    async def _look(self, hold: Hold) -> tuple[Choice | None, bool]:
        """What to take, and whether that was found among all that wait. A look leaves types out; they are looked at
        before the hand rests, if no type of the look may be taken."""
        seen = set[tuple[str, str]]()
        is_thorough = False
        while True:
            flows, is_all = await self.bench.flows(is_thorough=is_thorough)
            now = self.preparation.clock.monotonic()
            choice = self.shares.choose(hold, flows, self.preparation.handlers_of, now=now)
            names = {(flow.source, flow.type) for flow in flows}
            if choice is not None or is_all or (is_thorough and names <= seen):
                return choice, is_all
            seen |= names
            is_thorough = True
