"""Arrivals that cannot come are refused when a process starts, in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from landfast import Event, Inbox
from landfast.domain.errors import ConfigError

SECRET = "whsec_dGVzdA=="


@pytest.fixture
def inbox() -> Inbox:
    made = Inbox(ledger="ledger.db")
    made.source("stripe", provider="stripe", secrets=[SECRET], allow_short_secret=True)

    @made.on("stripe", "charge.*")
    async def book_charge(event: Event, tx: Any) -> None: ...

    return made


def test_an_arrival_that_one_handler_takes_is_good(inbox: Inbox) -> None:
    paid = inbox.arrival("stripe", "charge.succeeded", entity="data.object.customer")
    inbox.check_declared()
    assert paid.label == "stripe:charge.succeeded"


@pytest.mark.parametrize(
    ("source", "type_", "told"),
    [
        ("strip", "charge.succeeded", "arrival strip:charge.succeeded: there is no source 'strip'"),
        ("stripe", "refund.created", "no handler of stripe takes 'refund.created', so it would never come"),
        ("stripe", "charge.*", r"the type is 'charge\.\*'; name one type"),
    ],
)
def test_one_that_never_comes_is_an_error_at_the_start(inbox: Inbox, source: str, type_: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        declare(inbox, source, type_)


def test_where_two_handlers_take_it_one_of_them_is_named(inbox: Inbox) -> None:
    @inbox.on("stripe", "charge.succeeded")
    async def tell_crm(event: Event, tx: Any) -> None: ...

    with pytest.raises(ConfigError, match="book_charge and tell_crm take it; say whose COMMIT others wait for"):
        declare(inbox, "stripe", "charge.succeeded")
    inbox.registry.arrivals.clear()
    with pytest.raises(ConfigError, match="no handler 'tell_cmr' takes it"):
        declare(inbox, "stripe", "charge.succeeded", handler="tell_cmr")
    inbox.registry.arrivals.clear()
    declare(inbox, "stripe", "charge.succeeded", handler="tell_crm")


def test_one_type_is_declared_once(inbox: Inbox) -> None:
    inbox.arrival("stripe", "charge.succeeded", entity="data.object.customer")
    with pytest.raises(ConfigError, match="it is there already; use what the first one returned"):
        inbox.arrival("stripe", "charge.succeeded", entity="data.object.id")


def test_an_entity_that_is_no_path_is_refused(inbox: Inbox) -> None:
    with pytest.raises(ConfigError, match="entity is 7; it is a path in the data"):
        inbox.arrival("stripe", "charge.succeeded", entity=7)  # type: ignore[arg-type]


def declare(inbox: Inbox, source: str, type_: str, **options: Any) -> None:
    inbox.arrival(source, type_, **options)
    inbox.check_declared()
