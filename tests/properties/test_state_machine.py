"""Everything that may happen to a few events, in any order, against what should come of it; on both stores.

Hypothesis draws the steps. In `make test` they are the same on every run, so that a failure is never a matter of luck.
To look further: `LANDFAST_EXAMPLES=1000 .venv/bin/python -m pytest tests/properties` draws new ones (`make soak`), and a
failure prints its steps and the line that repeats it. There is no retention yet, so nothing is forgotten here.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from landfast.domain.ids import event_id
from landfast.domain.lifecycle import Signal, State, from_states
from landfast.ledgers import limits
from tests.properties.acts import DATA, act, drawn
from tests.properties.expected import CRASHES, MATCHING, Expected
from tests.properties.floor import LEASE, Hand, order
from tests.properties.ground import Ground
from tests.servers import Postgres

EXAMPLES = int(os.environ.get("LANDFAST_EXAMPLES", "0"))
IN_MAKE_TEST = {"sqlite": 25, "postgres": 5}
"""What 20 seconds on two busy cores allow for both stores together; `make soak` has the others."""
STEPS = 50
TROUBLES = 5
EVENTS = 2
"""So few that one of them has a long and troubled life; two may share a transaction."""

types = st.sampled_from([*sorted(MATCHING), "order.created"])
old_deploys = st.integers(0, 3).map(lambda drawn: drawn == 0)
picks = st.integers(0, 11)
"""Which of those that are there: modulo their number."""


class Webhooks(Ground):
    """Each act does one thing to the real shop, does the same to what is expected, and compares."""

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        """One rule for all, because Hypothesis leaves out some rules in every example, and here they need each other."""
        drawn(self, data)

    # Intake.

    @act(
        when=lambda self: len(self.events) < EVENTS,
        type_=types,
        malformed=st.integers(0, 5).map(lambda drawn: drawn == 0),
        late=st.integers(0, 5).map(lambda drawn: drawn == 0),
    )
    def deliver(self, type_: str, malformed: bool, late: bool) -> None:
        key = f"evt_{len(self.events) + 1}"
        body = order(key, type_, malformed=malformed, late=late)
        answer = self.run(self.floor.send(body, secret=self.floor.secrets[-1]))
        assert (answer.status, b"stored" in answer.body) == (200, True)
        self.events[key] = Expected(key, type_, body, malformed, late, State.HELD if late else State.READY)

    @act(when=lambda self: self.events and self.troubles < TROUBLES, pick=picks, data=DATA)
    def trouble_intake(self, pick: int, data: st.DataObject) -> None:
        """What hardly meets the rest, and is drawn a few times only."""
        self.troubles += 1
        what = data.draw(st.sampled_from([self.duplicate, self.forge, self.rotate, self.crash_intake]))
        what(pick)

    def duplicate(self, pick: int) -> None:
        event, secret = self.pick(pick), self.floor.secrets[pick % len(self.floor.secrets)]
        answer = self.run(self.floor.send(event.body, secret=secret))
        assert (answer.status, b"duplicate" in answer.body) == (200, True)

    def forge(self, pick: int) -> None:
        """Signed by a stranger, with a secret that was revoked, or for other bytes."""
        secret = [*self.revoked, "whsec_stranger", self.floor.secrets[-1]][pick % (len(self.revoked) + 2)]
        body = order(f"forged_{pick}", "order.created", malformed=False)
        signed = body + b" " if secret in self.floor.secrets else None
        assert self.run(self.floor.send(body, secret=secret, signed=signed)).status == 401

    def rotate(self, pick: int) -> None:
        """A new secret beside the old one, or the old one goes; an orderly restart of intake takes it up."""
        if pick % 2 and len(self.floor.secrets) > 1:
            self.revoked.append(self.floor.secrets.pop(0))
        else:
            self.floor.secrets.append(f"whsec_{len(self.floor.secrets) + len(self.revoked)}")
        self.run(self.floor.tally.close())
        self.run(self.floor.boot())

    def crash_intake(self, pick: int) -> None:
        """Its cache is gone, and so are the counts that it had not reported."""
        self.run(self.floor.boot())

    # Processing.

    @act(
        when=lambda self: self.any_event(lambda event: event.is_claimable or event.state is State.DELAYED),
        weight=3,
        limit=st.integers(1, 3),
        old=old_deploys,
    )
    def claim(self, limit: int, old: bool) -> None:
        number, token = self.floor.next_hand()
        claims = list(self.run(self.floor.shop.inbox.claim(token=token, lease=LEASE, limit=limit)))
        self.wake()
        claimable = [event for event in self.events.values() if event.is_claimable]
        assert len(claims) == min(limit, len(claimable))
        assert {claim.key for claim in claims} <= {event.key for event in claimable}
        self.take(Hand(number, claims, old), claims)

    @act(when=lambda self: self.any_event(lambda event: event.is_suspect), old=old_deploys)
    def claim_suspect(self, old: bool) -> None:
        number, token = self.floor.next_hand()
        claim = self.run(self.floor.shop.inbox.claim_suspect(token=token, lease=LEASE))
        assert claim is not None and self.events[claim.key].is_suspect
        self.take(Hand(number, [claim], old), [claim])
        assert claim.suspect and claim.crashes == self.held[number][0].crashes

    @act(when=lambda self: self.fresh(), weight=2, pick=picks, data=DATA)
    def execute(self, pick: int, data: st.DataObject) -> None:
        """Succeed or fail, as drawn for each event and handler; the hand may be a zombie by now."""
        hand = self.fresh()[pick % len(self.fresh())]
        self.draw(hand, data)
        expected = self.expect(hand)
        self.run(self.floor.execute(hand))
        self.compare(hand, expected)

    @act(when=lambda self: self.any_event(lambda event: event.is_runnable), old=old_deploys, data=DATA)
    def work(self, old: bool, data: st.DataObject) -> None:
        """A worker goes all the way, as most do: so that what is rare is not rarer still."""
        if self.any_event(lambda event: event.is_suspect):
            self.claim_suspect(old)
        elif self.any_event(lambda event: event.is_claimable or event.state is State.DELAYED):
            self.claim(1, old)
        if self.hands and self.hands[-1] in self.fresh():
            self.execute(self.fresh().index(self.hands[-1]), data)
            self.settle(list(self.signals).index(self.hands[-1].number))

    @act(
        when=lambda self: self.any_event(lambda event: event.state is State.CLAIMED),
        weight=3,
        old=old_deploys,
        data=DATA,
    )
    def overtake(self, old: bool, data: st.DataObject) -> None:
        """Whoever holds an event is a zombie from now on, and another is through with it already."""
        self.expire()
        self.work(old, data)

    @act(when=lambda self: self.store == "postgres" and self.paused is None and self.fresh(), pick=picks, data=DATA)
    def start(self, pick: int, data: st.DataObject) -> None:
        """Stop in the middle of a handler, with the receipt in an open transaction. SQLite has one writer, and a
        process that holds it stops all others: there, only whole transactions come late."""
        hand = self.fresh()[pick % len(self.fresh())]
        [held, *more] = self.held[hand.number]
        event = self.events[held.key]
        if more or hand.old or event.malformed or held.crashes >= CRASHES or "create_order" not in MATCHING[event.type]:
            return
        if event.stands(held, "create_order"):
            return
        self.draw(hand, data)
        assert self.run(self.floor.start(hand)), "its handler did not run"

    @act(when=lambda self: self.paused)
    def finish(self) -> None:
        """The zombie goes on, and commits."""
        hand = self.paused
        assert hand is not None
        self.run(self.floor.finish(hand))
        self.compare(hand, self.expect(hand))

    @act(when=lambda self: self.signals, pick=picks)
    def settle(self, pick: int) -> None:
        number = list(self.signals)[pick % len(self.signals)]
        hand = next(each for each in self.hands if each.number == number)
        assert hand.settlements is not None
        took = list(self.run(self.floor.shop.inbox.settle(hand.settlements)))
        by_key = {held.key: (held, signal) for held, signal in self.signals[hand.number]}
        for settlement, effective in zip(hand.settlements, took, strict=True):
            event = self.event_of(settlement)
            assert effective == event.settle(*by_key[event.key]), f"{event} and {settlement.signal}"
        self.drop(hand)

    @act(when=lambda self: self.hands, pick=picks)
    def crash(self, pick: int) -> None:
        """The worker dies wherever it stands: before its transaction, inside of it, or before it settled."""
        hand = self.hands[pick % len(self.hands)]
        leases = self.run(self.floor.kill(hand))
        tokens = {held.token for held in self.held[hand.number]}
        left = [event for event in self.events.values() if event.token in tokens and not event.expired]
        assert leases == len(left)
        for event in left:
            event.expired = True
        self.drop(hand)

    @act(when=lambda self: self.any_event(lambda event: event.state in {State.CLAIMED, State.DELAYED}))
    def expire(self) -> None:
        """Time passes: every lease is over, whoever lives; and whoever waited is due."""
        self.run(self.floor.advance(LEASE + 1))
        for event in self.events.values():
            event.expired = event.expired or event.state is State.CLAIMED

    @act(when=lambda self: self.any_event(lambda event: event.is_requeuable))
    def requeue(self) -> None:
        """A worker of the newer deploy starts."""
        waiting = [event for event in self.events.values() if event.is_requeuable]
        requeue = self.floor.shop.inbox.requeue
        for type_, count in Counter(event.type for event in waiting).items():
            assert self.run(requeue(source="stripe", type=type_, limit=100)) == count
        for event in waiting:
            event.state = State.READY

    # Operators.

    @act(
        when=lambda self: self.any_event(lambda event: event.state in from_states(Signal.REPLAY)),
        pick=picks,
        forced=st.booleans(),
    )
    def replay(self, pick: int, forced: bool) -> None:
        event = self.pick(pick)
        identity = event_id("stripe", event.key)
        count = self.run(self.floor.shop.inbox.replay([identity], forced=forced, who="ana"))
        assert count == event.replay(forced=forced)

    @act(
        when=lambda self: self.any_event(lambda event: event.state is State.HELD),
        pick=picks,
        signal=st.sampled_from([Signal.ADMIT, Signal.ADMIT, Signal.DISCARD]),
    )
    def decide(self, pick: int, signal: Signal) -> None:
        """About a held event, or about one that is not: then it changes nothing."""
        event = self.pick(pick)
        inbox = self.floor.shop.inbox
        move = inbox.admit if signal is Signal.ADMIT else inbox.discard
        assert self.run(move([event_id("stripe", event.key)], who="ana")) == event.decide(signal)

    # Effects.

    @act(
        when=lambda self: self.floor.staged,
        suspects=st.booleans(),
        limit=st.integers(1, 3),
        how=st.sampled_from(["performed", "failed", "crashed"]),
    )
    def perform(self, suspects: bool, limit: int, how: str) -> None:
        """Its performer may die before it wrote down what came of it: then it is performed again."""
        _, token = self.floor.next_hand()
        ledger = self.floor.shop.ledger
        if suspects:
            found = self.run(ledger.claim_suspect(token=token, lease=LEASE))
            claimed = [] if found is None else [found]
        else:
            claimed = list(self.run(ledger.claim(token=token, lease=LEASE, limit=limit)))
        self.floor.staged = bool(claimed)  # more may be there, or not before the next order
        self.floor.mail_is_away = how == "failed"
        if how != "crashed":
            self.run(self.floor.perform(claimed))
        self.floor.mail_is_away = False


@pytest.fixture(autouse=True)
def _quick_and_quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever meets a receipt that is held waits a little, not a second; and nobody logs a thousand dead letters."""
    monkeypatch.setattr(limits, "RECEIPT_WAIT", 0.03)
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def profile(store: str) -> settings:
    return settings(
        max_examples=EXAMPLES or IN_MAKE_TEST[store],
        stateful_step_count=STEPS,
        derandomize=not EXAMPLES,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.req("R20", "R26")
def test_whatever_happens_in_whatever_order_comes_to_what_it_should_on_sqlite() -> None:
    machine = type("OnSqlite", (Webhooks,), {"store": "sqlite"})
    run_state_machine_as_test(machine, settings=profile("sqlite"))


@pytest.mark.req("R20", "R26")
def test_whatever_happens_in_whatever_order_comes_to_what_it_should_on_postgres(postgres: Postgres) -> None:
    machine = type("OnPostgres", (Webhooks,), {"store": "postgres", "server": postgres})
    run_state_machine_as_test(machine, settings=profile("postgres"))
