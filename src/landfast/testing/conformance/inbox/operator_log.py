"""OperatorLog: lines in a chain, added one after the other by whoever comes, and read as they stand there."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from landfast.domain.operator_log import Action, Chain, Entry, Step, end_at, mac_of
from landfast.testing.conformance.inbox.bench import Bench

ALL = 1 << 40


def entry(number: int = 0, *, of: int | None = None) -> Entry:
    step = Step.ASKED if of is None else Step.DONE
    return Entry(Action.PAUSE, step, "ada", "desk", f"because {number} \u2603", f'{{"number": {number}}}', of)


class OperatorLogConformance:
    async def test_an_empty_operator_log_has_no_end_and_no_key(self, bench: Bench) -> None:
        assert await bench.inbox.operator_log_end() is None
        assert await bench.inbox.operator_log_key() is None
        assert list(await bench.inbox.operator_log(after=0, upto=ALL, limit=10)) == []
        assert list(await bench.inbox.latest_operations(limit=10)) == []

    async def test_a_line_is_read_as_it_was_added_and_the_chain_holds(self, bench: Bench) -> None:
        added = [await bench.inbox.add_to_operator_log(entry(number)) for number in range(3)]
        added.append(await bench.inbox.add_to_operator_log(entry(3, of=2)))
        other = await bench.another()
        assert list(await other.operator_log(after=0, upto=ALL, limit=10)) == added
        assert [line.seq for line in added] == [1, 2, 3, 4]
        assert (added[3].entry.of, added[0].entry) == (2, entry(0))
        end, key = await other.operator_log_end(), await other.operator_log_key()
        assert key is not None
        assert end == end_at(mac_of(key), added[-1])
        chain = Chain(key, end)
        assert (chain.follow(added), chain.ended()) == ("", "")

    async def test_lines_are_found_by_their_numbers_and_the_latest_by_their_time(self, bench: Bench) -> None:
        first = await bench.inbox.add_to_operator_log(entry(1))
        await bench.advance(100)
        for number in range(2, 6):
            await bench.inbox.add_to_operator_log(entry(number))
        found = await bench.inbox.operator_log(after=1, upto=4, limit=2)
        assert [line.seq for line in found] == [2, 3]
        assert [line.seq for line in await bench.inbox.latest_operations(limit=2)] == [5, 4]
        assert [line.seq for line in await bench.inbox.latest_operations(limit=9, before=3)] == [2, 1]
        since = first.at + timedelta(seconds=50)
        assert [line.seq for line in await bench.inbox.latest_operations(limit=9, since=since)] == [5, 4, 3, 2]

    async def test_of_many_who_add_at_the_same_time_each_has_a_place_and_there_is_no_gap(self, bench: Bench) -> None:
        both = [bench.inbox, await bench.another()]
        added = await asyncio.gather(*(both[number % 2].add_to_operator_log(entry(number)) for number in range(24)))
        assert sorted(line.seq for line in added) == list(range(1, 25))
        key = await both[1].operator_log_key()
        assert key is not None
        chain = Chain(key, await bench.inbox.operator_log_end())
        assert chain.follow(await bench.inbox.operator_log(after=0, upto=ALL, limit=99)) == ""
        assert chain.ended() == ""

    async def test_text_that_no_database_takes_is_repaired_before_its_digest_is_made(self, bench: Bench) -> None:
        strange = Entry(Action.ERASE, Step.ASKED, "a\0da", "d\ud800", "w\0hy", "{}")
        added = await bench.inbox.add_to_operator_log(strange)
        assert list(await bench.inbox.latest_operations(limit=1)) == [added]
        assert "\0" not in added.entry.why
