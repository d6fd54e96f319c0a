"""However many strangers there are, they share what one of them may take of the loop: counted, not timed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from landfast.intake.diagnosis.guesser import GUESSING_SECONDS, LONGEST_PAUSE_SECONDS, Guesser
from landfast.intake.large import LINE_BYTES, LONGEST_REST_SECONDS, OTHERS_SHARE, SECONDS_BETWEEN_TURNS
from landfast.web.http.newcomers import STRANGER_SECONDS, Newcomers
from tests.intake.desk import body, source
from tests.patience import PATIENCE_SECONDS
from tests.web.client import Shop
from tests.web.test_turns import Line

NOBODY = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
REST = OTHERS_SHARE * STRANGER_SECONDS


def _coming(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, Callable[[], None]]]:
    """What the loop is asked to do later, and when. The test does it."""
    asked: list[tuple[float, Callable[[], None]]] = []
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "call_later", lambda wait, what: asked.append((wait, what)), raising=False)
    return asked


def _opened() -> Line:
    """One whose newcomers go by its time."""
    line = Line()
    line.connections.newcomers = Newcomers(lambda: line.now)
    return line


def _another(line: Line) -> Line:
    other = Line()
    other.desk = line.desk
    other.connection._connections = line.connections
    return other


def _good(line: Line, number: int = 1) -> bytes:
    return Shop.post(line, body(number))  # type: ignore[arg-type]  # it has a desk as well


async def test_whoever_goes_and_has_proved_nothing_costs_newcomers_a_rest() -> None:
    line = _opened()
    assert line.connections.newcomers.rest == 0.0
    line.connection.data_received(NOBODY)
    assert line.wire.answers[0].startswith(b"HTTP/1.1 404 ")
    assert line.connections.newcomers.rest == pytest.approx(REST)
    line.connection.connection_lost(None)
    assert line.connections.newcomers.rest == pytest.approx(REST), "charged once, for being refused or for going"
    _another(line).connection.connection_lost(None)
    assert line.connections.newcomers.rest == pytest.approx(REST), "who never said a word waits for no turn either"
    for _ in range(10_000):
        line.connections.newcomers.charge()
    assert line.connections.newcomers.rest == pytest.approx(LONGEST_REST_SECONDS), "nobody is kept out for seconds"


@pytest.mark.parametrize("size", [10, LINE_BYTES + 1])
async def test_a_greeting_proves_nobody_however_large_it_is(size: int) -> None:
    line = Line(source("asana", "asana", secret="abc"))
    request = f"POST /in/asana HTTP/1.1\r\nHost: a\r\nX-Hook-Secret: zzz\r\nContent-Length: {size}\r\n\r\n"
    line.connection.data_received(request.encode() + b"x" * size)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not line.wire.answers:
            await asyncio.sleep(0)
    assert line.wire.answers[0].startswith(b"HTTP/1.1 200 ")
    assert not line.connection._is_proven


async def test_however_fast_strangers_come_a_newcomer_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    coming = _coming(monkeypatch)
    now = began = 1000.0
    newcomers, served = Newcomers(lambda: now), []
    newcomers.charge()
    newcomers.wait(lambda: served.append(now))
    while not served:
        ((wait, serve),) = coming
        coming.clear()
        ends = now + wait
        while now < ends:  # thousands a second, and one at the very moment that the rest ends
            now = min(ends, now + 0.0002)
            newcomers.charge()
        serve()
        assert now - began < 2 * LONGEST_REST_SECONDS


async def test_whoever_brought_an_event_is_charged_nothing_when_it_goes() -> None:
    line = _opened()
    line.connection.data_received(_good(line))
    line.connection.connection_lost(None)  # before its answer: the event is being stored
    again = _another(line)
    again.connection.data_received(_good(line, 2))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not again.wire.answers:
            await asyncio.sleep(0)
    again.connection.data_received(NOBODY)
    assert len(again.wire.answers) == 2, "a mistake of somebody who is known"
    assert line.connections.newcomers.rest == 0.0


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_nobody_is_charged_for_what_we_cannot_do(status: int) -> None:
    line = _opened()
    answer = line.desk.intake.busy()
    line.connection._send(type(answer)(status, b"{}", close=True), closes=True)
    line.connection._close()
    assert line.connections.newcomers.rest == 0.0


async def test_while_strangers_rest_a_newcomer_waits_unless_it_is_known_or_plainly_genuine() -> None:
    known = _opened()
    known.connection.data_received(_good(known))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not known.wire.answers:
            await asyncio.sleep(0)
    stranger, newcomer, genuine = _another(known), _another(known), _another(known)
    stranger.connection.data_received(NOBODY)
    odd = Shop.post(known, body(), "Expect: 100-continue")  # type: ignore[arg-type]  # it has a desk as well
    known.connection.data_received(odd)
    newcomer.connection.data_received(odd)
    genuine.connection.data_received(_good(known))
    assert len(known.wire.answers) == 2 and len(genuine.wire.answers) == 1
    assert not newcomer.wire.answers and newcomer.wire.is_paused and known.desk.unproven.total > 0
    known.now += REST
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not newcomer.wire.answers:
            await asyncio.sleep(0)
    assert newcomer.wire.answers[0].startswith(b"HTTP/1.1 200 ")
    assert known.desk.unproven.total == 0
    await newcomer.turns_until(lambda: not newcomer.wire.is_paused)


async def test_of_many_newcomers_the_good_ones_are_served_in_one_go_and_each_stranger_makes_the_rest_wait() -> None:
    now, served = 1000.0, []
    newcomers = Newcomers(lambda: now)
    newcomers.charge()

    def take_turn(name: str, *, is_good: bool) -> Callable[[], None]:
        def turn() -> None:
            served.append(name)
            if not is_good:
                newcomers.charge()

        return turn

    for name in ("good 1", "good 2", "stranger 1", "good 3", "stranger 2", "good 4"):
        newcomers.wait(take_turn(name, is_good=name.startswith("good")))
    assert served == [] and newcomers.rest, "it rests"
    now += REST
    newcomers.serve()
    assert served == ["good 1", "good 2", "stranger 1"]
    now += REST
    newcomers.serve()
    assert served[3:] == ["good 3", "stranger 2"]
    now += REST
    newcomers.serve()
    assert served[5:] == ["good 4"] and not newcomers.have_to_wait


async def test_newcomers_leave_the_loop_to_others_after_a_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    coming = _coming(monkeypatch)
    now, served = 1000.0, 0
    newcomers = Newcomers(lambda: now)

    def turn() -> None:
        nonlocal now, served
        now += 2 * SECONDS_BETWEEN_TURNS
        served += 1
        if served < 3:
            newcomers.wait(turn)  # it comes again in its own turn

    for _ in range(2):
        newcomers.wait(turn)
    for expected in (1, 2, 3, 4):
        ((wait, serve),) = coming
        assert wait == 0.0
        coming.clear()
        serve()
        assert served == expected, "one at a time, and the line is never served twice"
    assert not coming


async def test_a_turn_that_raises_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    coming = _coming(monkeypatch)
    newcomers, served = Newcomers(lambda: 1000.0), []

    def fail() -> None:
        raise RuntimeError("a bug of ours")

    newcomers.wait(fail)
    newcomers.wait(lambda: served.append("the next"))
    with pytest.raises(RuntimeError):
        coming.pop()[1]()
    coming.pop()[1]()
    assert served == ["the next"] and not newcomers.have_to_wait


async def test_who_drips_its_request_while_strangers_rest_buys_no_time() -> None:
    line = _opened()
    line.connections.newcomers.charge()
    request = HEALTH
    line.connection.data_received(request[:1])
    first = line.connection.deadline
    line.now += 5.0
    line.connections.newcomers.charge()
    line.connection._is_in_line = False  # it had its turn
    line.connection.data_received(request[1:2])
    assert line.connection.deadline == first


async def test_a_stop_lets_newcomers_wait_no_longer(shop: Shop) -> None:
    newcomers = shop.server.connections.newcomers = Newcomers(lambda: 0.0)  # whose time stands still
    newcomers.charge()
    client = await shop.connect()
    await client.send(HEALTH)
    await shop.until(lambda: newcomers.have_to_wait and bool(newcomers._waiting))
    stopping = asyncio.create_task(shop.server.stop(grace=PATIENCE_SECONDS))
    assert (await client.reply()).status == 200
    await stopping
    newcomers.charge()
    assert not newcomers.have_to_wait


def test_the_guesser_rests_between_guesses_for_twice_as_long_as_they_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = 0.0, list[float]()
    monkeypatch.setattr("time.monotonic", lambda: now)
    monkeypatch.setattr("time.sleep", slept.append)
    guesser = Guesser()

    def explain() -> None:
        nonlocal now
        for seconds in (GUESSING_SECONDS / 2, GUESSING_SECONDS, 60.0):
            now += seconds
            guesser.rest()

    guesser._explain(explain)
    assert slept == pytest.approx([OTHERS_SHARE * 1.5 * GUESSING_SECONDS, LONGEST_PAUSE_SECONDS])
