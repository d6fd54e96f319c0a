"""What a handler asks for, by annotation or by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from landfast import BlockingTransaction, Event, Transaction
from landfast.domain.errors import ConfigError
from landfast.processing.handlers.parameters import TX, Asked, asked_by


class OurSession:
    """What a stack offers."""


class Routed(OurSession):
    """A user's own kind of it."""


OFFERS = {f"{OurSession.__module__}.OurSession": "session", "driver.Connection": "connection"}


def asked(function: Callable[..., Any]) -> Asked:
    return asked_by(function, "handler f", OFFERS, "memory")


def the_event(event: Event) -> None: ...
def nothing_annotated(event: Any, anything: Any) -> None: ...
def by_name(event: Any, session: Any, conn: Any) -> None: ...
def by_annotation(event: Event, mine: Routed, its: Transaction) -> None: ...
def known_to_the_checker_only(event: Event, mine: nowhere.OurSession) -> None: ...  # type: ignore[name-defined] # noqa: F821
def blocking(event: Event, its: BlockingTransaction, mine: OurSession) -> None: ...
def by_keyword(event: Event, *, session: OurSession) -> None: ...
def with_a_default(event: Event, retries: int = 3, *, tx: Transaction) -> None: ...
def between_them(event: Event, retries: int = 3, session: Any = None) -> None: ...
def everything(*arguments: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (the_event, Asked(())),
        (nothing_annotated, Asked((TX,))),
        (by_name, Asked(("session", "connection"))),
        (by_annotation, Asked(("session", TX))),
        (known_to_the_checker_only, Asked(("session",))),
        (blocking, Asked((TX, "session"))),
        (by_keyword, Asked((), {"session": "session"})),
        (with_a_default, Asked((), {"tx": TX})),
        (between_them, Asked((), {"session": "session"})),
        (everything, Asked((TX,))),
    ],
    ids=lambda it: getattr(it, "__name__", ""),
)
def test_it_gets_what_it_asks_for(function: Callable[..., Any], expected: Asked) -> None:
    assert asked(function) == expected


def nothing() -> None: ...
def no_event(*, event: Event) -> None: ...
def stranger(event: Event, tx: Transaction, mailer: int) -> None: ...
def yields(event: Event, tx: Transaction) -> Any:
    yield


@pytest.mark.parametrize("function", [nothing, no_event, stranger, yields], ids=lambda it: it.__name__)
def test_what_nobody_can_fill_is_known_at_registration(function: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match="handler f: "):
        asked(function)


def test_a_ledger_that_has_no_session_says_what_it_gives() -> None:
    with pytest.raises(ConfigError, match="the SQLite ledger has nothing to give for its parameter 'session'"):
        asked_by(by_name, "handler f", {"sqlite3.Connection": "connection"}, "SQLite")
