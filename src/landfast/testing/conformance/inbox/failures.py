"""What failed: found by what is known of it, tried now, closed, replayed for one handler and beside live events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from landfast.domain.filter import Filter
from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Outcome, Tries, alone
from landfast.domain.summary import Cursor, EventSummary
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_flows, claim_one, look, state_of
from landfast.testing.factory import DAWN, deliveries, delivery, event_in, failure, settlement

ORDER, MAIL = HandlerName("create_order"), HandlerName("send_mail")


class FailureConformance:
    async def test_a_hastened_event_is_ready_in_the_same_run_and_keeps_its_count(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        later = DAWN + timedelta(days=1)
        tries = {ORDER: Tries(3, 4.5, later, attempts=8, total=60.0), MAIL: Tries(came_to=Outcome.DONE)}
        await bench.inbox.settle([settlement(held, Signal.RETRY, due_in=3600.0, tries=tries, **failure())])
        assert await bench.inbox.hasten([held.event_id, held.event_id], who="ada") == 1
        assert await bench.inbox.hasten([held.event_id, delivery("nowhere").event_id], who="grace") == 0
        claimed = await claim_one(bench.inbox, 2)
        assert (claimed.event_id, claimed.run, claimed.forced) == (held.event_id, 1, False)
        assert dict(claimed.tries) == {ORDER: replace(tries[ORDER], due=None), MAIL: tries[MAIL]}
        line = (await look(bench.inbox, held.event_id)).history[-1]
        assert (line.signal, line.state, line.who) == (Signal.HASTEN, State.READY, "ada")

    async def test_a_closed_dead_letter_is_done_and_says_who_and_why(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DEAD)
        again = [held.event_id, held.event_id]
        assert await bench.inbox.close_dead(again, who="ada", why="a test of the sender's") == 1
        assert await bench.inbox.close_dead(again, who="grace", why="once more") == 0
        record = await look(bench.inbox, held.event_id)
        assert (record.summary.state, record.summary.reason) == (State.DONE, "discarded")
        line = record.history[-1]
        assert (line.signal, line.state, line.who, line.reason) == (Signal.CLOSE, State.DONE, "ada", "discarded")
        assert [(one.outcome, one.message) for one in line.attempts] == [("discarded", "a test of the sender's")]

    async def test_a_closed_dead_letter_is_counted_as_done_and_owes_no_receipt(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DEAD)
        await bench.inbox.close_dead([held.event_id], who="ada", why="")
        census = await bench.inbox.census()
        assert (census.events, census.states.get(State.DEAD, 0), census.states.get(State.DONE, 0)) == (1, 0, 1)
        walked = [one async for chunk in bench.inbox.walk_done(Filter(), chunk=10) for one in chunk]
        assert [(one.key, one.handlers) for one in walked] == [(held.key, ())]

    async def test_a_closed_dead_letter_can_be_replayed(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DEAD)
        await bench.inbox.close_dead([held.event_id], who="ada", why="")
        assert await bench.inbox.replay([held.event_id], forced=False, who="ada") == 1
        assert (await claim_one(bench.inbox, 2)).run == 2

    async def test_an_erased_dead_letter_can_be_closed(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DEAD)
        await bench.inbox.erase([held.event_id], who="ada")
        assert await bench.inbox.close_dead([held.event_id], who="ada", why="nothing is left of it") == 1
        assert await state_of(bench.inbox, held.event_id) is State.DONE
        assert await bench.inbox.replay([held.event_id], forced=False, who="ada") == 0

    @pytest.mark.parametrize("state", [State.DEAD, State.DONE, State.UNHANDLED])
    async def test_a_replay_of_one_handler_says_so_until_its_run_ends(self, bench: Bench, state: State) -> None:
        held = await event_in(bench.inbox, state)
        assert await bench.inbox.replay([held.event_id], forced=True, who="ada", only=MAIL) == 1
        assert (await look(bench.inbox, held.event_id)).history[-1].reason == "forced, only send_mail"
        claimed = await claim_one(bench.inbox, 2)
        assert (alone(claimed.tries), claimed.run, claimed.forced) == (MAIL, 2, True)
        await bench.inbox.settle([settlement(claimed, Signal.RELEASE)])
        claimed = await claim_one(bench.inbox, 3)
        assert alone(claimed.tries) == MAIL
        await bench.inbox.settle([settlement(claimed, Signal.FINISH, handlers=(MAIL,))])
        (done,) = [one async for chunk in bench.inbox.walk_done(Filter(), chunk=10) for one in chunk]
        assert (done.run, done.forced, done.handlers) == (2, True, (MAIL,))
        await bench.inbox.replay([held.event_id], forced=False, who="ada")
        assert dict((await claim_one(bench.inbox, 4)).tries) == {}

    @pytest.mark.parametrize(
        ("wanted", "keys"),
        [
            (Filter(handler="create_order"), "ab"),
            (Filter(handler="create*"), "ab"),
            (Filter(handler="*"), "abc"),
            (Filter(handler="create"), ""),
            (Filter(line="shop.py:14"), "a"),
            (Filter(line="shop.py:*"), "ab"),
            (Filter(reason="gave_up"), "c"),
            (Filter(message="no such"), "ac"),
            (Filter(message="such*cus"), "a"),
            (Filter(message="NO SUCH"), ""),
            (Filter(message="100%_"), "b"),
            (Filter(message="*"), "abc"),
            (Filter(state=State.DEAD, handler="create_order", line="shop.py:14", message="cus"), "a"),
            (Filter(state=State.DELAYED, handler="*"), ""),
            (Filter(state=State.READY, handler="*"), ""),
            (Filter(state=State.READY, message="no"), ""),
            (Filter(state=State.DONE, handler="*"), ""),
            (Filter(state=State.DONE, line="*"), ""),
        ],
    )
    async def test_what_failed_is_found_by_handler_line_reason_and_message(
        self, bench: Bench, wanted: Filter, keys: str
    ) -> None:
        await self._three_failures(bench)
        await event_in(bench.inbox, State.DONE, delivery("d"), number=7)
        await bench.inbox.record([delivery("e")])
        assert sorted(one.key for one in await bench.inbox.find(wanted, limit=10)) == list(keys)
        assert sorted(one.key for one in await bench.inbox.find(wanted, limit=10, oldest_first=True)) == list(keys)
        assert await bench.inbox.count(wanted, at_most=10) == len(keys)
        assert await bench.inbox.count(wanted, at_most=1) == min(1, len(keys))

    async def test_a_message_is_found_behind_pages_of_others(self, bench: Bench) -> None:
        await self._three_failures(bench)
        (found,) = await bench.inbox.find(Filter(message="cus_9"), limit=1)
        assert found.key == "a"

    async def test_a_failure_knows_its_line_and_since_when_it_waits(self, bench: Bench) -> None:
        await self._three_failures(bench)
        found = {one.key: one for one in await bench.inbox.find(Filter(), limit=10)}
        assert (found["a"].line, found["a"].handler, found["c"].line) == ("shop.py:14", "create_order", "")
        for one in found.values():
            assert one.since is not None
            assert one == (await look(bench.inbox, one.event_id)).summary

    async def test_the_oldest_come_first_where_that_is_asked_for(self, bench: Bench) -> None:
        for number, what in enumerate(deliveries(5)):
            await event_in(bench.inbox, State.DEAD, what, number=number)
        await bench.inbox.record([delivery("ready", received_at=DAWN + timedelta(seconds=9))])
        for state, expected in ((State.DEAD, [0, 1, 2, 3, 4]), (None, [0, 1, 2, 3, 4, None])):
            pages: list[EventSummary] = []
            while page := await bench.inbox.find(Filter(state=state), limit=2, after=_end(pages), oldest_first=True):
                pages += page
            assert [one.key for one in pages] == ["ready" if n is None else f"evt_{n:04}" for n in expected]
        narrow = Filter(since=DAWN + timedelta(seconds=1), before=DAWN + timedelta(seconds=3))
        found = await bench.inbox.find(narrow, limit=9, oldest_first=True)
        assert [one.key for one in found] == ["evt_0001", "evt_0002"]

    async def test_replays_are_a_flow_of_their_own(self, bench: Bench) -> None:
        dead = [await event_in(bench.inbox, State.DEAD, delivery(f"dead {n}"), number=n) for n in range(3)]
        await bench.inbox.record([delivery(f"live {n}") for n in range(3)])
        await bench.inbox.replay([one.event_id for one in dead], forced=False, who="ada")
        flows = {flow.is_replay: flow for flow in (await bench.inbox.flows()).flows}
        assert {flow.name for flow in flows.values()} == {
            ("shop", "order.created", False),
            ("shop", "order.created", True),
        }
        replays = await claim_flows(bench.inbox, 10, [flows[True]], limit=2)
        live = await claim_flows(bench.inbox, 11, [flows[False]], limit=10)
        assert [one.run for one in replays] == [2, 2]
        assert [one.key for one in live] == ["live 0", "live 1", "live 2"]
        assert [flow.is_replay for flow in (await bench.inbox.flows()).flows] == [True]
        assert len(await claim(bench.inbox, 12, limit=10)) == 1

    async def _three_failures(self, bench: Bench) -> None:
        told = [
            ("a", ORDER, "shop.py:14", "attempts_exhausted", "no such customer: cus_9"),
            ("b", ORDER, "shop.py:20", "attempts_exhausted", "it is 100%_ wrong"),
            ("c", MAIL, "", "gave_up", "no such address"),
        ]
        for number, (key, handler, line, reason, message) in enumerate(told):
            what = delivery(key, received_at=DAWN + timedelta(seconds=number))
            held = await event_in(bench.inbox, State.CLAIMED, what, number=number)
            fields = {"handler": handler, "line": line, "reason": reason, "message": message, "error": "LookupError"}
            await bench.inbox.settle([settlement(held, Signal.BURY, **fields)])


def _end(found: Sequence[EventSummary]) -> Cursor | None:
    return Cursor(found[-1].received_at, found[-1].event_id) if found else None
