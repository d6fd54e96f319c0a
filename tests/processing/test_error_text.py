"""A user's error as text: whatever its class does, there is a name, a message and a trace, and nothing raises."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from landfast.domain import body as body_module
from landfast.domain.event import Event
from landfast.domain.fault import Fault
from landfast.domain.lifecycle import State
from landfast.domain.verdict import RetryLater
from landfast.ledgers.postgres import PostgresLedger
from landfast.ledgers.sqlite import SqliteLedger
from landfast.processing.handlers.error_text import (
    MESSAGE_CHARACTERS,
    TRACE_CHARACTERS,
    line_of,
    logged,
    name_of,
    text_of,
    trace_of,
)
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert


def fails(*_: object) -> NoReturn:
    raise RuntimeError("no words")


class BrokenError(Exception):
    __str__ = __repr__ = fails


class EndingError(Exception):
    def __str__(self) -> NoReturn:
        raise SystemExit("no words")


class CauselessError(Exception):
    __cause__ = property(fails)
    __traceback__ = property(fails)


class NotesError(Exception):
    __notes__ = property(fails)


class Nameless(type):
    __name__ = property(fails)


class AnonymousError(Exception, metaclass=Nameless): ...


class Sly(str):
    __slots__ = ()
    __getitem__ = encode = replace = __len__ = fails  # type: ignore[assignment]


class SlipperyError(Exception):
    def __str__(self) -> str:
        return Sly("it says so")


def half_a_syntax_error() -> SyntaxError:
    error = SyntaxError("where?")
    error.lineno, error.text, error.offset, error.filename = BrokenError(), BrokenError(), BrokenError(), BrokenError()  # type: ignore[assignment]
    return error


def raised(error: BaseException) -> BaseException:
    with pytest.raises(BaseException) as caught:
        raise error
    return caught.value


def in_a_circle() -> BaseException:
    error = ValueError("in a circle")
    error.__cause__ = error
    return error


def nested(depth: int) -> BaseException:
    error: Exception = BrokenError()
    for _ in range(depth):
        error = ExceptionGroup("a group", [error])
    return error


ODD: dict[str, Callable[[], BaseException]] = {
    "broken": BrokenError,
    "ending": EndingError,
    "causeless": CauselessError,
    "notes": NotesError,
    "anonymous": AnonymousError,
    "slippery": SlipperyError,
    "syntax": half_a_syntax_error,
    "circle": in_a_circle,
    "group": lambda: BaseExceptionGroup("many", [BrokenError(), KeyboardInterrupt(), CauselessError()]),
    "nested": lambda: nested(500),
    "huge": lambda: ValueError("x" * 10_000_000),
    "unstorable": lambda: ValueError("\0 and \ud800"),
}


@pytest.mark.parametrize("kind", ODD)
def test_every_error_has_a_name_a_message_and_a_trace_that_can_be_stored(kind: str) -> None:
    error = raised(ODD[kind]())
    texts = {"name": name_of(error), "message": text_of(error), "trace": trace_of(error), "line": line_of(error)}
    for what, text in texts.items():
        assert type(text) is str, what
        assert "\0" not in text
        text.encode()
    assert texts["name"] and texts["trace"]
    assert len(texts["message"]) <= MESSAGE_CHARACTERS and len(texts["trace"]) <= TRACE_CHARACTERS + 4


def test_a_trace_of_what_cannot_be_formatted_still_shows_the_frames_and_the_name() -> None:
    trace = trace_of(raised(NotesError("said")))
    assert "in raised" in trace and "NotesError: said" in trace  # newer Pythons add what they could not read


@pytest.mark.parametrize("ledger", [SqliteLedger, PostgresLedger])
async def test_every_error_can_be_diagnosed(ledger: Any) -> None:
    for kind, make in ODD.items():
        assert await asyncio.to_thread(ledger.diagnose, None, make()) is Fault.OTHER, kind


async def test_errors_that_cannot_be_printed_are_dead_letters_and_their_neighbours_are_done(shop: Shop) -> None:
    @shop.on("*", attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        if event.key in ODD:
            error = ODD[event.key]()
            raise error

    await shop.deliver(*ODD, "good_1", "good_2")
    await shop.drain()
    assert await shop.states() == {State.DEAD: len(ODD), State.DONE: 2}
    record = await shop.show("broken")
    assert (record.summary.error, record.summary.message) == ("BrokenError", "(this error cannot be printed)")
    assert "test_error_text.py" in record.history[-1].attempts[-1].trace


class AwayError(ConnectionError):
    """As if a service were away, so that its text is wanted for a breaker, too."""

    __str__ = __repr__ = fails


async def test_an_outage_of_which_nothing_can_be_said_opens_a_breaker_all_the_same(shop: Shop) -> None:
    @shop.on("*", attempts=3)
    async def create_order(event: Event, tx: Any) -> None:
        raise AwayError

    await shop.deliver(*(f"evt_{number}" for number in range(20)))
    worker = shop.worker()
    await worker.drain()
    assert worker.breakers.handlers[shop.registry.handlers[0].name].is_open


class Muddled(RetryLater):
    """Reading it fails where it is judged, not where it is printed."""

    def __init__(self) -> None:
        super().__init__("later", after=1.0)
        self.after = "soon"  # type: ignore[assignment]


class DisguisedError(Exception):
    __class__ = property(fails)


@pytest.mark.parametrize("error", [Muddled, DisguisedError])
async def test_an_error_that_cannot_be_judged_is_a_failed_attempt_like_any_other(
    shop: Shop, error: Callable[[], BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    @shop.on("*", attempts=2)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        if event.key == "bad":
            raise error()

    await shop.deliver("bad", "good_1", "good_2")
    await shop.drain()
    assert await shop.states() == {State.DELAYED: 1, State.DONE: 2}
    assert (await shop.show("bad")).history[-1].attempts[-1].number == 1
    await shop.settle_down()
    assert (await shop.show("bad")).summary.reason == "attempts_exhausted"
    assert "not_judged" in caplog.text or "not_diagnosed" in caplog.text


async def test_an_event_that_cannot_be_prepared_fails_and_its_neighbours_go_on(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = body_module.decode

    def stumbling(body: bytes, content_type: str | None) -> object:
        if b"bad" in body:
            raise MemoryError
        return decode(body, content_type)

    monkeypatch.setattr(body_module, "decode", stumbling)
    shop.on("order.created", name="create_order", attempts=2)(insert)
    await shop.deliver("bad", "good_1", "good_2")
    await shop.deliver("bad_too", type_="nobody.handles.this")
    await shop.drain()
    assert await shop.states() == {State.DELAYED: 1, State.DONE: 2, State.UNHANDLED: 1}
    await shop.settle_down()
    assert (await shop.show("bad")).summary.error == "MemoryError"


async def test_a_bug_of_a_ledger_fails_the_event_that_met_it_and_its_neighbours_go_on(shop: Shop) -> None:
    begin = shop.ledger.begin

    async def begun(**options: Any) -> Any:
        tx = await begin(**options)
        reserve, commit = tx.reserve, tx.commit
        seen: list[Any] = []

        async def noted(keys: Any, **more: Any) -> Any:
            seen.extend(keys)
            return await reserve(keys, **more)

        async def unsteady(**more: Any) -> None:
            if bad & {key.digest for key in seen}:
                raise TypeError("a bug")
            await commit(**more)

        tx.reserve, tx.commit = noted, unsteady
        return tx

    shop.ledger.begin = begun
    bad: set[Any] = set()

    @shop.on("*", attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)

    await shop.deliver("bad", "good_1", "good_2", "good_3")
    worker = shop.worker()
    [claim] = [one for one in await shop.inbox.claim(token=worker._token(), lease=0.0, limit=9) if one.key == "bad"]
    bad.add(worker._execution.preparation._receipt(claim, shop.registry.handlers[0].name).digest)
    await shop.inbox.abandon(worker=worker._worker)
    await shop.settle_down()
    assert await shop.states() == {State.DEAD: 1, State.DONE: 3}
    assert (await shop.show("bad")).summary.error == "TypeError"


def test_the_place_is_in_the_users_own_code_and_not_in_the_library_that_raised() -> None:
    with pytest.raises(ValueError) as caught:
        json.loads("{")
    assert re.fullmatch(r"JSONDecodeError at test_error_text\.py:\d+ in test_the_place_is_in\w+", logged(caught.value))


def test_the_place_is_the_librarys_where_nothing_else_is_there() -> None:
    with pytest.raises(ValueError) as caught:
        json.loads("{")
    attribute: Any = BaseException.__traceback__
    inner = caught.value.with_traceback(attribute.__get__(caught.value).tb_next)
    assert logged(inner).startswith("JSONDecodeError at decoder.py:")
