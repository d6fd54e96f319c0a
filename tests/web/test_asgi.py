"""The same answers under any ASGI server, at any prefix."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Iterable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from landfast.domain.census import SourceTally
from landfast.domain.errors import UnverifiedError
from landfast.intake.large import LARGE_BYTES, LINE_BYTES
from landfast.intake.policy.unproven import Unproven
from landfast.web import asgi
from landfast.web.asgi import ArrivingBody, Message, Scope, asgi_app
from landfast.web.http.connections import Limits
from tests.intake.desk import Desk, SlowScheme, body, source, watched
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
def desk() -> Desk:
    return Desk()


def client_of(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop.example")


@pytest.mark.req("R3", "R5")
async def test_an_event_is_stored_once_through_asgi(desk: Desk) -> None:
    async with client_of(asgi_app(desk.intake)) as client:
        first = await client.post("/in/stripe", content=body(), headers=desk.headers(body()))
        again = await client.post("/in/stripe", content=body(), headers=desk.headers(body()))
    assert (first.status_code, first.json()["status"]) == (200, "stored")
    assert (again.status_code, again.json()["status"]) == (200, "duplicate")
    assert first.headers["x-content-type-options"] == "nosniff"
    (stored,) = desk.recorder.events.values()
    assert stored.body == body()


async def test_it_can_be_mounted_at_a_prefix_in_fastapi(desk: Desk) -> None:
    app = FastAPI()
    app.mount("/hooks", asgi_app(desk.intake))
    async with client_of(app) as client:
        reply = await client.post("/hooks/in/stripe", content=body(), headers=desk.headers(body()))
        health = await client.get("/hooks/health")
        outside = await client.post("/in/stripe", content=body(), headers=desk.headers(body()))
    assert (reply.status_code, health.json(), outside.status_code) == (200, {"status": "ok"}, 404)


@pytest.mark.req("R1")
async def test_refusals_are_the_same_as_over_our_own_server(desk: Desk) -> None:
    async with client_of(asgi_app(desk.intake)) as client:
        unsigned = await client.post("/in/stripe", content=body())
        forged = await client.post("/in/stripe", content=body(2), headers=desk.headers(body(1)))
        nobody = await client.post("/in/nobody", content=body())
        wrong = await client.get("/in/stripe")
        large = await client.post("/in/stripe", content=b"x" * 2_000_000, headers=desk.headers(body()))
        packed = {**desk.headers(body()), "content-encoding": "gzip"}
        gzipped = await client.post("/in/stripe", content=body(), headers=packed)
    answers = (unsigned, forged, nobody, wrong, large, gzipped)
    assert [answer.status_code for answer in answers] == [401, 401, 404, 405, 413, 415]
    assert unsigned.content == forged.content == UnverifiedError.answer.body
    assert wrong.headers["allow"] == "POST" and large.headers["connection"] == "close"
    assert desk.recorder.batches == [] and desk.is_balanced()


async def test_a_head_request_gets_no_body(desk: Desk) -> None:
    async with client_of(asgi_app(desk.intake)) as client:
        assert (await client.head("/health")).content == b""


class Exchange:
    """One request, message by message."""

    def __init__(
        self, desk: Desk, messages: Iterable[Message], *, length: bytes | None = None, signed: bytes | None = None
    ) -> None:
        signed = body() if signed is None else signed
        headers = [(name.lower().encode(), value.encode()) for name, value in desk.headers(signed).items()]
        if length is not None:
            headers.append((b"content-length", length))
        self.scope: Scope = {"type": "http", "method": "POST", "path": "/in/stripe", "headers": headers}
        self.messages = list(messages)
        self.sent: list[Message] = []
        self.app = asgi_app(desk.intake)

    async def receive(self) -> Message:
        if self.messages:
            return self.messages.pop(0)
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def run(self) -> int:
        await self.app(self.scope, self.receive, self.send)
        return int(self.sent[0]["status"])


def part(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.request", "body": data, "more_body": more}


async def test_a_body_in_parts_is_one_body(desk: Desk) -> None:
    parts = [part(body()[:100]), part(body()[100:]), {"type": "http.request"}]
    assert await Exchange(desk, parts).run() == 200
    (stored,) = desk.recorder.events.values()
    assert stored.body == body()


async def test_the_body_limit_holds_while_it_streams(desk: Desk) -> None:
    exchange = Exchange(desk, [part(b"x" * 700_000)] * 5)
    assert await exchange.run() == 413
    assert len(exchange.messages) == 3
    assert desk.count() == SourceTally(1, 0, 0, 1)


async def test_a_disconnect_before_the_whole_body_is_not_taken_as_its_end(desk: Desk) -> None:
    assert await Exchange(desk, [part(body()), {"type": "http.disconnect"}]).run() == 400
    assert desk.recorder.batches == [] and desk.is_balanced()


async def test_a_body_shorter_than_announced_is_not_taken_as_whole(desk: Desk) -> None:
    length = b"%d" % (len(body()) + 1)
    assert await Exchange(desk, [part(body(), more=False)], length=length).run() == 400
    assert desk.recorder.batches == []


async def test_a_length_that_is_no_number_is_left_to_the_bytes(desk: Desk) -> None:
    assert await Exchange(desk, [part(body(), more=False)], length=b"many").run() == 200


async def test_a_slow_body_gets_408(desk: Desk) -> None:
    exchange = Exchange(desk, [part(b"{")])
    exchange.app = asgi_app(desk.intake, limits=Limits(request_seconds=0.0))
    assert await exchange.run() == 408
    assert desk.count() == SourceTally(1, 0, 0, 1)


async def test_a_body_that_keeps_coming_gets_more_time_and_none_for_later() -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(Limits().request_seconds / 2) as within:
        await asyncio.sleep(0)
        arriving = ArrivingBody(within)
        times = [arriving.deadline]
        for size in (1, 3_600_000):
            arriving.buy_time(size, Limits(body_rate=1_000))
            times.append(arriving.deadline)
    assert times[1] == times[0] + 0.001
    assert times[2] <= loop.time() + Limits().request_seconds


async def test_beyond_the_budget_of_unproven_bytes_the_slowest_makes_room_for_a_newcomer() -> None:
    desk = Desk()
    first, second = Exchange(desk, [part(body()[:-10])]), Exchange(desk, [part(body()[:-10])])
    first.app = second.app = asgi_app(desk.intake)
    slowest = asyncio.ensure_future(first.run())
    while first.messages or desk.unproven.total < len(body()) - 10:
        await asyncio.sleep(0)
    one = desk.unproven.total
    desk.unproven._most = 2 * one - 1
    newcomer = asyncio.ensure_future(second.run())
    assert await slowest == 503
    assert desk.unproven.total == one and not newcomer.done()
    newcomer.cancel()
    await asyncio.wait([newcomer])
    assert desk.unproven.total == 0 and desk.is_balanced()


@pytest.mark.parametrize("is_forged", [False, True])
async def test_a_large_body_is_put_together_and_verified_in_the_thread(is_forged: bool) -> None:
    watched_source, scheme = watched(source(body_limit=2 * LARGE_BYTES))
    desk = Desk(sources=(watched_source,))
    content = body() + b" " * LARGE_BYTES
    messages = [part(content[:-9]), part(content[-9:], more=False)]
    status = await Exchange(desk, messages, signed=b"{}" if is_forged else content).run()
    assert status == (401 if is_forged else 200)
    assert scheme.threads and threading.current_thread() not in scheme.threads
    assert [each.body == content for each in desk.recorder.events.values()] == [True] * (not is_forged)
    assert desk.unproven.total == 0 and desk.is_balanced()


async def test_of_bodies_that_are_not_small_one_has_its_turn_at_a_time_and_others_do_not_wait() -> None:
    watched_source, scheme = watched(source())
    desk = Desk(sources=(watched_source,))
    content = body() + b" " * LINE_BYTES
    await desk.intake.large.turns.take()  # somebody else has it
    waiting = [Exchange(desk, [part(content, more=False)], signed=content) for _ in range(2)]
    running = [asyncio.ensure_future(each.run()) for each in waiting]
    assert await Exchange(desk, [part(body(2), more=False)], signed=body(2)).run() == 200
    assert len(scheme.threads) == 1 and desk.unproven.total > 2 * len(content)
    running.pop().cancel()
    desk.intake.large.turns.end(0.0)
    assert await running[0] == 200
    cut = Exchange(desk, [part(content, more=False)], length=b"%d" % (len(content) + 1), signed=content)
    assert await cut.run() == 400
    assert await Exchange(desk, [part(content, more=False)], signed=content).run() == 200  # each turn had its end
    assert desk.unproven.total == 0 and desk.is_balanced() and desk.count().stored == 2


async def test_a_body_that_is_whole_is_not_too_slow_however_long_it_waits_for_its_turn() -> None:
    desk, content = Desk(), body() + b" " * LINE_BYTES
    await desk.intake.large.turns.take()
    exchange = Exchange(desk, [part(content, more=False)], signed=content)
    exchange.app = asgi_app(desk.intake, limits=Limits(request_seconds=0.0))
    running, loop = asyncio.ensure_future(exchange.run()), asyncio.get_running_loop()
    loop.call_later(0.1, desk.intake.large.turns.end, 0.0)  # later than what a request has
    assert await running == 200 and desk.is_balanced()


async def test_large_bodies_that_wait_for_the_thread_are_in_the_budget() -> None:
    slow_source, slow = watched(source(body_limit=2 * LARGE_BYTES), SlowScheme)
    content = body() + b" " * LARGE_BYTES
    desk = Desk(sources=(slow_source,), unproven=Unproven(2 * len(content)))
    first, second = (Exchange(desk, [part(content, more=False)], signed=content) for _ in range(2))
    slowest = asyncio.ensure_future(first.run())
    assert await asyncio.to_thread(slow.has_begun.wait, PATIENCE_SECONDS)
    assert desk.unproven.total > len(content)
    desk.clock.advance(1)
    newcomer = asyncio.ensure_future(second.run())
    assert await slowest == 503
    slow.may_end.set()
    assert await newcomer == 200
    assert desk.unproven.total == 0 and desk.is_balanced() and desk.count().stored == 1


async def test_a_body_beyond_all_of_the_budget_gives_way_itself() -> None:
    desk = Desk(unproven=Unproven(100))
    assert await Exchange(desk, [part(body()[:-10]), part(body()[-10:], more=False)]).run() == 503
    assert desk.unproven.total == 0 and desk.is_balanced()


class Newcomer:
    """One that needs room."""

    deadline = math.inf

    def give_way(self) -> None: ...


def make_room(desk: Desk) -> None:
    """By taking it from whoever holds something now."""
    desk.unproven._most = desk.unproven.total
    desk.unproven.hold(Newcomer(), "stripe", 1)
    desk.unproven._most = Unproven()._most


async def test_a_body_that_gives_way_as_its_last_piece_arrives_is_not_taken_for_a_forged_one(desk: Desk) -> None:
    exchange, last = Exchange(desk, [part(body()[:-10])]), asyncio.get_running_loop().create_future()
    first = exchange.receive

    async def receive() -> Message:
        return await first() if exchange.messages else await last

    exchange.receive = receive  # type: ignore[method-assign]
    running = asyncio.ensure_future(exchange.run())
    while desk.unproven.total < len(body()) - 10:
        await asyncio.sleep(0)
    last.set_result(part(body()[-10:], more=False))
    make_room(desk)
    assert await running == 503
    assert desk.recorder.batches == [] and desk.is_balanced()


async def test_a_body_that_gives_way_as_its_turn_comes_is_not_taken_for_a_forged_one(desk: Desk) -> None:
    content = body() + b" " * LINE_BYTES
    await desk.intake.large.turns.take()
    running = asyncio.ensure_future(Exchange(desk, [part(content, more=False)], signed=content).run())
    while desk.unproven.total < len(content):
        await asyncio.sleep(0)
    desk.intake.large.turns._lock.release()
    make_room(desk)
    assert await running == 503
    async with asyncio.timeout(PATIENCE_SECONDS):  # the turn that it had is given back
        assert await Exchange(desk, [part(content, more=False)], signed=content).run() == 200
    assert desk.is_balanced() and desk.count().stored == 1


async def test_a_body_whose_time_is_up_just_now_makes_room_without_harm_to_the_newcomer(desk: Desk) -> None:
    newcomers = list[str]()
    running = asyncio.ensure_future(Exchange(desk, [part(body()[:-10])]).run())
    while desk.unproven.total < len(body()) - 10:
        await asyncio.sleep(0)
    (arriving,) = desk.unproven._held
    assert isinstance(arriving, ArrivingBody)
    arriving._within.reschedule(0.0)  # in the next turn of the loop, and then somebody needs its room

    def come() -> None:
        assert arriving._within.expired()
        make_room(desk)
        newcomers.append("has come in")

    asyncio.get_running_loop().call_soon(come)
    assert await running == 503
    assert newcomers == ["has come in"] and desk.is_balanced()


async def test_the_address_and_the_scheme_are_those_that_the_server_gives(desk: Desk) -> None:
    head = asgi.head_of({"method": "POST", "path": "/", "headers": [], "client": ("2001:db8::7", 5), "scheme": "https"})
    assert (head.peer, head.is_secure) == ("2001:db8::7", True)
    head = asgi.head_of({"method": "POST", "path": "/", "headers": [], "client": None})
    assert (head.peer, head.is_secure) == ("", False)


@pytest.mark.req("R3")
async def test_an_event_is_stored_although_the_server_cancels_the_request(desk: Desk) -> None:
    desk.recorder.gate.clear()
    request = asyncio.ensure_future(Exchange(desk, [part(body(), more=False)]).run())
    await desk.recorder.entered.wait()
    request.cancel()
    await asyncio.wait([request])
    desk.recorder.gate.set()
    await desk.group.close()
    assert len(desk.recorder.events) == 1 and desk.count() == SourceTally(1, 1, 0, 0)


async def test_a_request_cancelled_in_its_body_is_counted(desk: Desk) -> None:
    request = asyncio.ensure_future(Exchange(desk, [part(b"{")]).run())
    await asyncio.sleep(0)
    assert desk.count().received == 1
    request.cancel()
    await asyncio.wait([request])
    assert desk.is_balanced()


async def test_a_lifespan_is_answered_and_other_scopes_are_left_alone(desk: Desk) -> None:
    exchange = Exchange(desk, [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    exchange.scope = {"type": "lifespan"}
    await exchange.app(exchange.scope, exchange.receive, exchange.send)
    assert [message["type"] for message in exchange.sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    await exchange.app({"type": "websocket"}, exchange.receive, exchange.send)
    assert len(exchange.sent) == 2


async def test_a_bug_is_answered_500(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.intake, "_admit", None)
    exchange = Exchange(desk, [])
    assert await exchange.run() == 500
    assert json.loads(exchange.sent[1]["body"]) == {"error": "internal error"}
