"""What an event should come to, by the rules as DESIGN says them: dictionaries, no database, no concurrency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from landfast.domain.ids import Token
from landfast.domain.lifecycle import TOKEN_SIGNALS, Signal, State, after
from landfast.domain.outcome import Outcome

ATTEMPTS = 2
CRASHES = 3
MATCHING = {"order.created": ("create_order", "tell_crm"), "order.paid": ("create_order",), "ping": ()}
"""Which handlers a type has in the newer deploy. The older one has none at all."""

Receipts = dict[tuple[str, int], Outcome]


@dataclass
class Held:
    """A claim as the rules see it: the event's fields at the time."""

    key: str
    token: Token
    run: int
    forced: bool
    crashes: int
    tries: dict[str, int]
    buried: set[str]
    """Handlers whose tombstone the event carries."""


@dataclass
class Expected:
    key: str
    type: str
    body: bytes
    malformed: bool
    late: bool = False
    state: State = State.READY
    run: int = 1
    forced: set[int] = field(default_factory=set)
    token: Token | None = None
    expired: bool = False
    suspect: bool = False
    crashes: int = 0
    tries: dict[str, int] = field(default_factory=dict)
    buried: set[str] = field(default_factory=set)
    receipts: Receipts = field(default_factory=dict)
    writes: dict[tuple[str, int], int] = field(default_factory=dict)
    redelivered: int = 0

    @property
    def is_claimable(self) -> bool:
        return self.state is State.READY and not self.suspect

    @property
    def is_runnable(self) -> bool:
        """Or will be, when its time comes."""
        return self.is_claimable or self.is_suspect or self.state is State.DELAYED

    @property
    def is_requeuable(self) -> bool:
        return self.state is State.UNHANDLED and bool(MATCHING[self.type])

    @property
    def is_suspect(self) -> bool:
        return (self.state is State.READY and self.suspect) or (self.state is State.CLAIMED and self.expired)

    def claim(self, token: Token) -> Held:
        if self.state is State.CLAIMED:
            self.crashes += self.suspect
            self.suspect = True
        self.state, self.token, self.expired = State.CLAIMED, token, False
        return Held(
            self.key, token, self.run, self.run in self.forced, self.crashes, dict(self.tries), set(self.buried)
        )

    def decide(self, signal: Signal) -> bool:
        """What an operator says about a held event; whether it was held."""
        follows = after(self.state, signal)
        if follows is not None:
            self.state = follows
        return follows is not None

    def replay(self, *, forced: bool) -> bool:
        if after(self.state, Signal.REPLAY) is None:
            return False
        self.state, self.run = State.READY, self.run + 1
        self.token, self.expired, self.suspect, self.crashes, self.tries = None, False, False, 0, {}
        self.buried = set()
        if forced:
            self.forced.add(self.run)
        return True

    def execute(self, held: Held, outcomes: Mapping[str, str], *, old: bool, busy: frozenset[str]) -> Signal:
        """What the ledger holds afterwards, and the signal for the inbox. `busy` are handlers whose receipt somebody
        else holds in an open transaction."""
        handlers = () if old else MATCHING[self.type]
        crashed = held.crashes >= CRASHES and bool(handlers)
        if self.malformed and not crashed:
            return Signal.REFUSE
        if not handlers:
            return (
                Signal.BURY if held.buried else Signal.NO_HANDLER
            )  # a tombstone outlives the deploy that took its handler
        came = [self._handler(held, name, "crash" if crashed else outcomes[name], name in busy) for name in handlers]
        held.buried |= {name for name, how in zip(handlers, came, strict=True) if how == "buried"}
        if "retry" in came:
            return Signal.RETRY
        if "later" in came:
            return Signal.POSTPONE
        return Signal.BURY if "buried" in came else Signal.FINISH

    def stands(self, held: Held, handler: str) -> str | None:
        """What an earlier transaction has decided for this handler and run."""
        there = self.receipts.get((handler, held.run))
        if there is not None:
            return "done" if there is Outcome.DONE else "buried"
        earlier = [self.receipts.get((handler, run)) for run in range(1, held.run)]
        return "done" if not held.forced and Outcome.DONE in earlier else None

    def settle(self, held: Held, signal: Signal) -> bool:
        """Whether it takes effect."""
        follows = after(self.state, signal)
        if follows is None or held.run != self.run or (signal in TOKEN_SIGNALS and held.token != self.token):
            return False
        if signal in {Signal.RETRY, Signal.POSTPONE}:
            self.tries, self.buried = dict(held.tries), set(held.buried)
        self.state, self.token, self.expired = follows, None, False
        return True

    def _handler(self, held: Held, name: str, outcome: str, is_busy: bool) -> str:
        spent = outcome == "crash"
        if stands := self.stands(held, name):
            held.tries.pop(name, None)
            return stands
        if is_busy:
            return "retry" if spent else "later"
        if not spent and outcome == "ok":
            held.tries.pop(name, None)
            self._seal(held, name)
            self.receipts[name, held.run] = Outcome.DONE
            self.writes[name, held.run] = self.writes.get((name, held.run), 0) + 1
            return "done"
        held.tries[name] = held.tries.get(name, 0) + 1
        if not spent and outcome == "fail" and held.tries[name] < ATTEMPTS:
            return "retry"
        held.tries.pop(name, None)
        self._seal(held, name)
        self.receipts[name, held.run] = Outcome.DEAD
        return "buried"

    def _seal(self, held: Held, name: str) -> None:
        for run in range(1, held.run) if not held.forced else ():
            self.receipts.setdefault((name, run), Outcome.DEAD)
