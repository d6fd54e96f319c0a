"""What a call is answered, by method, key, body and what became of the call before: the whole table."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from landfast.domain.answer import Answer
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.domain.outcome import closed
from landfast.domain.switch import SwitchKind
from landfast.recovery.erase import erase
from tests.endpoints.bench import BODY, OTHER, PATH, Bench, failure, open_bench, problem

pytestmark = pytest.mark.req("R14")

MADE = b'{"made":"a-1"}'


@pytest.fixture(params=["sqlite", "postgres"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    store = "" if request.param == "sqlite" else request.getfixturevalue("migrated_database")
    async with open_bench(tmp_path, store=store) as made:
        yield made


@pytest.fixture
async def on_sqlite(tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_bench(tmp_path) as made:
        yield made


def headers(answer: Answer) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in answer.headers}


# The states, each with the same body, another body, and the question by its link.


async def test_a_new_call_is_durable_and_told_to_come_again(bench: Bench) -> None:
    told = await bench.call()
    assert told.status == 202
    assert headers(told)["retry-after"] == "1"
    assert headers(told)["location"] == f"provision/{json.loads(told.body)['event']}"
    assert bench.runs == [] and await bench.writes() == []


async def test_a_call_that_is_not_done_yet_is_told_202_again_and_another_body_422(bench: Bench) -> None:
    first = await bench.call()
    again = await bench.call()
    assert (again.status, again.body) == (202, first.body)
    assert (await bench.ask(first)).status == 202
    other = await bench.call(body=OTHER)
    assert other.status == 422 and problem(other) == "other-body"


async def test_a_call_that_is_done_is_answered_again_with_the_stored_answer_and_another_body_422(bench: Bench) -> None:
    first = await bench.call()
    await bench.work()
    for told in (await bench.call(), await bench.call(), await bench.ask(first)):
        assert (told.status, told.body, told.content_type) == (201, MADE, b"application/json")
        assert headers(told) == {"x-made-by": "provision", "idempotent-replayed": "true"}
    other = await bench.call(body=OTHER)
    assert other.status == 422 and problem(other) == "other-body"
    await bench.work()
    assert bench.runs == ["k-1"] and await bench.writes() == ["a-1"]


async def test_a_call_that_failed_for_good_is_answered_with_the_stored_failure(bench: Bench) -> None:
    bench.errors = [failure("the plan costs 4200")]
    first = await bench.call()
    await bench.work()
    for told in (await bench.call(), await bench.call(), await bench.ask(first)):
        assert told.status == 500 and problem(told) == "failed"
        assert json.loads(told.body)["reason"] == "gave_up"
        assert b"4200" not in told.body  # what the error says is the operator's alone
    other = await bench.call(body=OTHER)
    assert other.status == 422
    await bench.work()
    assert bench.runs == ["k-1"] and await bench.writes() == []


async def test_an_answer_that_is_too_large_to_be_stored_fails_the_call_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    large = json.dumps({"account": "x" * 70_000}).encode()
    async with open_bench(tmp_path, attempts=1) as bench:
        assert (await bench.call(body=large)).status == 202
        await bench.work()
        assert problem(await bench.call(body=large)) == "failed"
        assert bench.runs == ["k-1"] and await bench.writes() == []


async def test_where_the_policy_says_so_a_call_that_failed_runs_again_under_the_same_key(tmp_path: Path) -> None:
    async with open_bench(tmp_path, failed="run_again") as bench:
        bench.errors = [failure(), failure()]
        first = await bench.call()
        await bench.work()
        assert (await bench.ask(first)).status == 500  # who only asks starts nothing
        assert (await bench.call(body=OTHER)).status == 422  # nor does another body
        assert (await bench.call()).status == 202
        assert (await bench.call()).status == 202  # it is on its way: no third run
        await bench.work()
        assert bench.runs == ["k-1", "k-1"]
        assert (await bench.call()).status == 202
        await bench.work()
        assert [(await bench.call()).body, await bench.writes()] == [MADE, ["a-1"]]
        assert len(bench.runs) == 3


async def test_a_call_that_an_operator_discarded_does_not_run_again_whatever_the_policy(tmp_path: Path) -> None:
    async with open_bench(tmp_path, failed="run_again") as bench:
        await bench.call()
        async with bench.inbox.archive() as archive:
            [event] = await archive.find(Filter(), limit=9)
            assert await archive.hold([event.event_id], who="ada", why="fraud") == 1
            assert await archive.discard([event.event_id], who="ada") == 1
        told = await bench.call()
        assert (problem(told), json.loads(told.body)["reason"]) == ("failed", "discarded")
        assert "an operator discarded it" in json.loads(told.body)["detail"]
        async with bench.inbox.archive() as archive:
            assert await archive.settle([closed(event.event_id, "fraud")]) == [True]
        assert problem(await bench.call()) == "failed"
        await bench.work()
        assert (bench.runs, await bench.writes()) == ([], [])
        async with bench.inbox.archive() as archive:  # whoever discarded it may think again
            assert await archive.replay([event.event_id], forced=False, who="ada") == 1
        await bench.work()
        assert ((await bench.call()).body, await bench.writes()) == (MADE, ["a-1"])


async def test_a_call_that_is_tried_again_later_is_told_when(on_sqlite: Bench) -> None:
    on_sqlite.errors = [OSError("the directory is away")]
    await on_sqlite.call()
    await on_sqlite.work()
    async with on_sqlite.inbox.archive() as archive:
        [event] = await archive.find(Filter(), limit=9)
    assert event.state is State.DELAYED
    assert (await on_sqlite.call()).status == 202
    on_sqlite.clock.offset += timedelta(minutes=1)
    await on_sqlite.work()
    assert (await on_sqlite.call()).status == 201


async def test_a_call_that_is_paused_is_told_202(on_sqlite: Bench) -> None:
    async with on_sqlite.inbox.archive() as archive:
        await archive.throw(SwitchKind.SOURCE, "provision", why="a test", who="a test")
    await on_sqlite.call()
    await on_sqlite.work()
    assert (await on_sqlite.call()).status == 202
    assert on_sqlite.runs == []


async def test_a_dead_call_that_an_operator_closed_has_failed_and_one_that_was_replayed_is_answered(
    on_sqlite: Bench,
) -> None:
    on_sqlite.errors = [failure(), failure()]
    for key in ("closed", "replayed"):
        await on_sqlite.call(key)
    await on_sqlite.work()
    async with on_sqlite.inbox.archive() as archive:
        found = {each.key: each.event_id for each in await archive.find(Filter(), limit=9)}
        assert await archive.settle([closed(found["closed"], "not needed")]) == [True]
        assert await archive.replay([found["replayed"]], forced=False, who="a test") == 1
    assert (await on_sqlite.call("replayed")).status == 202
    await on_sqlite.work()
    assert (await on_sqlite.call("replayed")).status == 201
    assert problem(await on_sqlite.call("closed")) == "failed"


async def test_an_answer_that_was_erased_is_gone_and_the_call_does_not_run_again(on_sqlite: Bench) -> None:
    await on_sqlite.call()
    await on_sqlite.work()
    async with on_sqlite.inbox.stores() as stores:
        await erase(stores.inbox, stores.ledger, stores.identity, Filter(source="provision"), who="a test")
    told = await on_sqlite.call()
    assert told.status == 410 and problem(told) == "answer-gone"
    await on_sqlite.work()
    assert len(on_sqlite.runs) == 1


# The key.


async def test_without_a_key_that_can_be_used_it_is_400_and_nothing_is_stored(on_sqlite: Bench) -> None:
    for key in (None, "", "x" * 256, "two words", "ümlaut", '"half', '""', "tab\tbed"):
        told = await on_sqlite.call(key)
        assert (told.status, problem(told)) == (400, "key-missing"), key
    await _nothing_is_stored(on_sqlite)


async def test_a_key_that_stands_twice_is_none(on_sqlite: Bench) -> None:
    head = on_sqlite.head()
    head.headers.pairs.append((b"idempotency-key", b"k-2"))
    told = await on_sqlite.send(
        type(head)(head.method, head.path, "", type(head.headers)(head.headers.pairs), 17), BODY
    )
    assert told.status == 400 and problem(told) == "key-missing"


async def test_a_key_in_quotes_as_the_draft_has_it_is_the_same_key(on_sqlite: Bench) -> None:
    first = await on_sqlite.call('"k-1"')
    assert (await on_sqlite.call("k-1")).body == first.body
    await on_sqlite.work()
    assert (await on_sqlite.call("k-1")).status == (await on_sqlite.call('"k-1"')).status == 201
    assert on_sqlite.runs == ["k-1"]


async def test_two_keys_are_two_calls_though_the_body_is_the_same(on_sqlite: Bench) -> None:
    await on_sqlite.call("k-1")
    await on_sqlite.call("k-2")
    await on_sqlite.work()
    assert await on_sqlite.writes() == ["a-1", "a-1"]


# The time.


async def test_a_time_that_is_out_of_tolerance_is_401_and_without_one_it_is_400(on_sqlite: Bench) -> None:
    for ago in (1_000, -1_000):
        told = await on_sqlite.call(ago=ago)
        assert (told.status, problem(told)) == (401, "not-verified"), ago
    for time in ("yesterday", "nan", "0"):
        told = await on_sqlite.call(X_Request_Timestamp=time)
        assert (told.status, problem(told)) == (400, "timestamp-missing"), time
    assert problem(await on_sqlite.call(without="X-Request-Timestamp")) == "timestamp-missing"
    await _nothing_is_stored(on_sqlite)


async def test_a_retry_with_a_later_time_is_the_same_call(on_sqlite: Bench) -> None:
    await on_sqlite.call()
    await on_sqlite.work()
    on_sqlite.clock.offset += timedelta(minutes=1)
    assert (await on_sqlite.call()).status == 201
    assert on_sqlite.runs == ["k-1"]


# The proof.


async def test_key_and_time_are_signed_so_whoever_changes_one_is_refused(on_sqlite: Bench) -> None:
    earlier = str(int(on_sqlite.clock.now().timestamp()) - 5)
    changes: list[dict[str, Any]] = [
        {"X_Signature": "00" * 32},
        {"Idempotency_Key": "k-2"},
        {"X_Request_Timestamp": earlier},
    ]
    for changed in changes:
        told = await on_sqlite.call(**changed)
        assert (told.status, problem(told)) == (401, "not-verified"), changed
    await _nothing_is_stored(on_sqlite)


async def test_another_body_under_a_captured_signature_is_401_and_learns_no_answer(on_sqlite: Bench) -> None:
    await on_sqlite.call()
    await on_sqlite.work()
    assert (await on_sqlite.send(on_sqlite.head(), OTHER)).status == 401


async def test_a_question_is_authenticated_like_a_call(on_sqlite: Bench) -> None:
    first = await on_sqlite.call()
    assert (await on_sqlite.ask(first, without="X-Signature")).status == 401
    assert (await on_sqlite.ask(first, key="k-2")).status == 404  # the link of another call
    assert (await on_sqlite.ask(first)).status == 202


async def test_a_question_about_a_call_that_never_came_is_404(on_sqlite: Bench) -> None:
    await on_sqlite.call()
    head = on_sqlite.head("k-1", b"", method="GET", path=f"{PATH}/{'0' * 32}")
    told = await on_sqlite.send(head, b"")
    assert told.status == 404 and problem(told) == "not-found"


# The method and the body.


async def test_any_other_method_is_405(on_sqlite: Bench) -> None:
    for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"):
        told = await on_sqlite.call(method=method)
        assert (told.status, problem(told), headers(told)["allow"]) == (405, "wrong-method", "POST"), method
    told = await on_sqlite.call(path=f"{PATH}/{'0' * 32}")
    assert (told.status, headers(told)["allow"]) == (405, "GET")
    for path in (f"{PATH}/more", f"{PATH}/", f"{PATH}x", f"{PATH}/{'g' * 32}", "/internal"):
        assert (await on_sqlite.call(path=path)).status == 404, path


async def test_a_body_that_cannot_be_read_is_400_and_does_not_use_up_the_key(on_sqlite: Bench) -> None:
    for body in (b"", b"{", b'{"a":1,"a":2}', b"\xff", b"NaN"):
        told = await on_sqlite.call(body=body)
        assert (told.status, problem(told)) == (400, "malformed-body"), body
    assert (await on_sqlite.call()).status == 202  # the right body under the same key


async def test_a_body_that_is_too_large_is_413_in_words_of_an_endpoint(tmp_path: Path) -> None:
    async with open_bench(tmp_path, body_limit=10) as bench:
        told = await bench.call()
        assert told.status == 413 and problem(told) == "body-too-large"


async def test_calls_beyond_the_rate_are_429_in_words_of_an_endpoint(tmp_path: Path) -> None:
    async with open_bench(tmp_path, rate=1) as bench:
        first, second = await bench.call("k-1"), await bench.call("k-2")
    assert (first.status, second.status) == (202, 429) and problem(second) == "too-many"
    assert "retry-after" in headers(second)


async def _nothing_is_stored(bench: Bench) -> None:
    async with bench.inbox.archive() as archive:
        assert await archive.find(Filter(), limit=9) == []
