"""What alerts keep in an inbox, and messages that wait for a receiver."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

from landfast.domain.alerts.alert import Alert, AlertName, NoticeKind, Severity
from landfast.domain.alerts.volumes import QUARTER, Volume, quarter_of
from landfast.domain.ids import BootId, HandlerName
from landfast.domain.lifecycle import Signal, State
from landfast.domain.message import Message
from landfast.domain.outcome import Tries
from landfast.domain.rates import Meter
from landfast.ports.alerts import RESOLVED_KEPT_SECONDS
from landfast.ports.inbox import Inbox
from landfast.testing.conformance.inbox.bench import Bench, claim
from landfast.testing.factory import DAWN, DELAY, deliveries, event_in, settlement

ONE, OTHER = BootId(b"one-----"), BootId(b"other---")
TASK = "alerts"


def alert(number: int = 1, **changes: object) -> Alert:
    made = Alert(
        incident=f"{number:032}",
        name=AlertName.SOURCE_SILENT,
        subject=f"shop {number}",
        severity=Severity.ERROR,
        sentence="Nothing came.",
        fix="look",
        figures={"seconds": 901, "share": 0.5, "why": "naïve\x00"},
        since=DAWN,
        seen_at=DAWN + timedelta(seconds=number),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def message(number: int, *, sink: str = "team", incident: str = "", kind: str = NoticeKind.FIRING) -> Message:
    return Message(f"notice-{number}", sink, f'{{"number":{number}}}', incident, kind)


async def save(inbox: Inbox, *alerts: Alert, messages: tuple[Message, ...] = ()) -> bool:
    await inbox.lead(TASK, who=ONE, lasting=60)
    return await inbox.save_alerts(alerts, messages, task=TASK, who=ONE)


async def taken(inbox: Inbox, *sinks: str, limit: int = 10) -> list[str]:
    return [one.message.id for one in await inbox.take_messages(sinks or ("team",), limit=limit, lease=60)]


class AlertConformance:
    async def test_one_at_a_time_has_a_task_and_keeps_it_while_it_says_so(self, bench: Bench) -> None:
        other = await bench.another()
        now = await bench.inbox.lead(TASK, who=ONE, lasting=60)
        assert now is not None
        assert now.tzinfo is not None
        assert await other.lead(TASK, who=OTHER, lasting=60) is None
        assert await other.lead("another task", who=OTHER, lasting=60) is not None
        await bench.advance(40)
        later = await bench.inbox.lead(TASK, who=ONE, lasting=60)
        assert later is not None
        assert later >= now + timedelta(seconds=39)
        await bench.advance(50)
        assert await other.lead(TASK, who=OTHER, lasting=60) is None

    async def test_a_task_that_has_run_out_is_free_for_who_has_been_patient(self, bench: Bench) -> None:
        await bench.inbox.lead(TASK, who=ONE, lasting=60)
        await bench.advance(70)
        assert await bench.inbox.lead(TASK, who=OTHER, lasting=60, patience=30) is None
        assert await bench.inbox.lead(TASK, who=OTHER, lasting=60) is not None
        assert await bench.inbox.lead(TASK, who=ONE, lasting=60) is None

    async def test_whoever_resigns_lets_go_of_its_own_task_only(self, bench: Bench) -> None:
        await bench.inbox.lead(TASK, who=ONE, lasting=60)
        await bench.inbox.resign(TASK, who=OTHER)
        assert await bench.inbox.lead(TASK, who=OTHER, lasting=60, patience=30) is None
        await bench.inbox.resign(TASK, who=ONE)
        assert await bench.inbox.lead(TASK, who=OTHER, lasting=60, patience=30) is not None

    async def test_an_alert_is_kept_as_it_is_until_it_is_resolved(self, bench: Bench) -> None:
        one, two = alert(1, told_at=DAWN, told=3), alert(2)
        assert await save(bench.inbox, one, two)
        found = await bench.inbox.firing()
        assert [replace(each, figures={}) for each in found] == [replace(each, figures={}) for each in (one, two)]
        assert found[0].figures["seconds"] == 901
        now = await bench.inbox.lead(TASK, who=ONE, lasting=60)
        ended = replace(one, sentence="Still nothing.", resolved_at=now)
        assert await save(bench.inbox, ended)
        assert [each.incident for each in await bench.inbox.firing()] == [two.incident]
        assert [each.sentence for each in await bench.inbox.resolved(limit=5)] == ["Still nothing."]
        assert await save(bench.inbox, replace(one, incident="f" * 32)), "the same once more is another incident"

    async def test_alerts_are_saved_with_their_messages_by_whoever_has_the_task_or_not_at_all(
        self, bench: Bench
    ) -> None:
        await bench.inbox.lead(TASK, who=OTHER, lasting=60)
        assert not await bench.inbox.save_alerts([alert()], [message(1)], task=TASK, who=ONE)
        assert (await bench.inbox.firing(), await bench.inbox.waiting_messages(limit=5)) == ([], [])
        await bench.advance(61)
        assert not await bench.inbox.save_alerts([alert()], [message(1)], task=TASK, who=OTHER)
        assert await save(bench.inbox, alert(), messages=(message(1),))
        assert [one.message for one in await bench.inbox.waiting_messages(limit=5)] == [message(1)]

    async def test_a_silence_is_in_force_for_its_time_and_the_last_one_counts(self, bench: Bench) -> None:
        await bench.inbox.silence("disk-low", "", lasting=10, who="ada", why="")
        until = await bench.inbox.silence("disk-low", "", lasting=60, who="grace", why="a move\x00")
        await bench.inbox.silence("disk-low", "host", lasting=5, who="ada", why="")
        await bench.advance(20)
        (left,) = await bench.inbox.silences()
        assert (left.name, left.subject, left.until, left.who) == ("disk-low", "", until, "grace")
        assert not await bench.inbox.unsilence("disk-low", "host"), "its time was over"
        assert await bench.inbox.unsilence("disk-low", "")
        assert not await bench.inbox.unsilence("disk-low", "")
        assert list(await bench.inbox.silences()) == []

    async def test_the_oldest_untried_event_is_ready_and_in_its_first_run(self, bench: Bench) -> None:
        assert await bench.inbox.untried_since() is None
        tried, replayed, new = deliveries(3)
        await event_in(bench.inbox, State.DEAD, replayed, number=1)
        await bench.inbox.replay([replayed.event_id], forced=False, who="ada")
        await bench.inbox.record([tried])
        (held,) = [one for one in await claim(bench.inbox, 2, limit=5) if one.event_id == tried.event_id]
        await bench.inbox.settle(
            [settlement(held, Signal.RETRY, due_in=DELAY, tries={HandlerName("create_order"): Tries(1, 1.0)})]
        )
        await bench.advance(DELAY + 60)
        await bench.inbox.flows()
        await bench.inbox.record([new])
        assert await bench.inbox.untried_since() == new.received_at
        await claim(bench.inbox, 3, limit=5)
        assert await bench.inbox.untried_since() is None

    async def test_volumes_are_kept_by_the_quarter_and_a_quarter_that_comes_again_replaces_itself(
        self, bench: Bench
    ) -> None:
        now = await bench.inbox.lead(TASK, who=ONE, lasting=60)
        assert now is not None
        last = quarter_of(now.astimezone(UTC))
        first, empty, old = last - 2 * QUARTER, last - QUARTER, last - timedelta(days=40)
        assert await bench.inbox.last_quarter() is None
        stored = Volume(first, Meter.STORED, "shop", 7)
        await bench.inbox.add_volumes([first, empty], [stored, Volume(first, Meter.DONE, "create_order", 6)])
        await bench.inbox.add_volumes([first], [replace(stored, count=9)])
        assert await bench.inbox.last_quarter() == empty
        counted, found = await bench.inbox.volumes([first, empty, last])
        assert (sorted(counted), list(found)) == ([first, empty], [replace(stored, count=9)])
        await bench.inbox.add_volumes([old], [replace(stored, quarter=old)])
        await bench.inbox.add_volumes([last], [])
        assert await bench.inbox.volumes([old]) == ([], [])

    async def test_a_message_is_taken_by_one_and_again_when_its_lease_is_over(self, bench: Bench) -> None:
        await save(bench.inbox, messages=(message(1), message(2, sink="pager"), message(3)))
        assert await taken(bench.inbox, limit=1) == ["notice-1"]
        assert await taken(await bench.another(), "team", "pager") == ["notice-2", "notice-3"]
        assert await taken(bench.inbox, "team", "pager") == []
        await bench.advance(61)
        again = await bench.inbox.take_messages(["team"], limit=10, lease=60)
        assert [(one.message.id, one.tries) for one in again] == [("notice-1", 2), ("notice-3", 2)]
        await bench.inbox.drop_message(message(1))
        assert [one.message.id for one in await bench.inbox.waiting_messages(limit=9)] == ["notice-2", "notice-3"]

    async def test_a_message_that_is_put_off_waits_and_one_that_is_given_up_is_only_looked_at(
        self, bench: Bench
    ) -> None:
        await save(bench.inbox, messages=(message(1), message(2)))
        await taken(bench.inbox)
        await bench.inbox.put_off_message(message(1), due_in=30, error="503")
        await bench.inbox.put_off_message(message(2), due_in=None, error="404")
        assert await taken(bench.inbox) == []
        await bench.advance(31)
        assert await taken(bench.inbox) == ["notice-1"]
        waiting = await bench.inbox.waiting_messages(limit=9)
        assert [(one.error, one.given_up_at is None) for one in waiting] == [("503", True), ("404", False)]

    async def test_one_incident_is_told_to_one_sink_in_order(self, bench: Bench) -> None:
        fire, end = message(1, incident="a"), message(2, incident="a", kind=NoticeKind.RESOLVED)
        await save(bench.inbox, messages=(fire, end, message(3, incident="b"), replace(end, sink="pager")))
        assert await taken(bench.inbox, "team", "pager") == ["notice-1", "notice-3", "notice-2"]
        assert await taken(bench.inbox, "team", "pager") == []
        await bench.inbox.drop_message(fire)
        assert await taken(bench.inbox, "team", "pager") == ["notice-2"]

    async def test_a_repeated_message_is_left_out_while_an_earlier_one_waits(self, bench: Bench) -> None:
        repeat = message(2, incident="a", kind=NoticeKind.REPEATED)
        await save(bench.inbox, messages=(message(1, incident="a"), repeat, replace(repeat, sink="pager")))
        waiting = [(one.message.id, one.message.sink) for one in await bench.inbox.waiting_messages(limit=9)]
        assert waiting == [("notice-1", "team"), ("notice-2", "pager")]
        await save(bench.inbox, messages=(message(1, incident="a"),))
        assert len(await bench.inbox.waiting_messages(limit=9)) == 2, "the same message is there once"

    async def test_what_is_over_for_five_weeks_is_forgotten(self, bench: Bench) -> None:
        now = await bench.inbox.lead(TASK, who=ONE, lasting=60)
        await save(bench.inbox, alert(1, resolved_at=now), messages=(message(1),))
        await bench.advance(RESOLVED_KEPT_SECONDS - 60)
        await save(bench.inbox, alert(2), messages=(message(2),))
        assert len(await bench.inbox.resolved(limit=9)) == 1
        await bench.advance(120)
        await save(bench.inbox, alert(2))
        assert await bench.inbox.resolved(limit=9) == []
        assert [one.message.id for one in await bench.inbox.waiting_messages(limit=9)] == ["notice-2"]
        assert len(await bench.inbox.firing()) == 1

    async def test_deaths_are_walked_in_order_and_each_step_is_made_once(self, bench: Bench) -> None:
        begin = await bench.inbox.newest_line()
        for number, (state, what) in enumerate(zip((State.DEAD, State.DONE, State.DEAD), deliveries(3), strict=True)):
            await event_in(bench.inbox, state, what, number=number)
        newest = await bench.inbox.newest_line()
        first, second = await bench.inbox.deaths(after=begin, upto=newest, limit=9)
        assert [first.event, second.event] == [one.event_id for one in deliveries(3)[::2]]
        assert list(await bench.inbox.deaths(after=begin, upto=newest, limit=1)) == [first]
        assert list(await bench.inbox.deaths(after=first.seq, upto=newest, limit=9)) == [second]
        assert await bench.inbox.walked_to("hook") is None
        assert await bench.inbox.walk_on("hook", seen=None, upto=begin, messages=())
        assert not await bench.inbox.walk_on("hook", seen=None, upto=newest, messages=[message(9)])
        assert await bench.inbox.walk_on("hook", seen=begin, upto=newest, messages=[message(1)])
        assert not await bench.inbox.walk_on("hook", seen=begin, upto=newest, messages=[message(2)])
        assert await bench.inbox.walked_to("hook") == newest
        assert await taken(bench.inbox) == ["notice-1"]

    async def test_what_an_operator_discards_is_no_death(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.HELD)
        await bench.inbox.discard([held.event_id], who="ada")
        newest = await bench.inbox.newest_line()
        assert list(await bench.inbox.deaths(after=0, upto=newest, limit=9)) == []
