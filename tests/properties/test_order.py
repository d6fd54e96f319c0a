"""Lanes, lifecycles, the newest only and graphs of steps, all at once, on every ledger: whatever arrives twice, late, in
any order, fails, dies, is replayed or crashes.

- I5: an ordered handler sees the events of an entity as they occurred; and one that came too late for that is told so,
  exactly where the log is out of order.
- I22: what a handler for the newest only and a lifecycle leave is what the right order leaves.
- I21: a step begins after all that it waits for, with their results, and never again once it was done.

Hypothesis draws the steps of a few hands, each of which claims, executes and settles when it is told to, and may be
forgotten in between. `LANDFAST_EXAMPLES=1000 .venv/bin/python -m pytest tests/properties` looks further.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from landfast.ledgers import limits
from tests.properties.order_handlers import Told, Watching, declare
from tests.properties.order_ledgers import LEDGERS, OrderShop, shop_on
from tests.properties.order_machine import Order

EXAMPLES = int(os.environ.get("LANDFAST_EXAMPLES", "0"))
IN_MAKE_TEST = {
    "sqlite": 15,
    **dict.fromkeys(("postgres", "psycopg", "sqlalchemy aiosqlite", "django sqlite", "mysql aiomysql"), 4),
}
"""Of each kind one, and few examples, of which the first two are trivial: a second each. `make soak` has all of them."""
STEPS = 50
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@pytest.fixture(autouse=True)
def _quick_and_quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(limits, "RECEIPT_WAIT", 0.03)
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.req("R27", "R28", "R29", "R30")
@pytest.mark.parametrize("ledger", LEDGERS if EXAMPLES else IN_MAKE_TEST)
def test_an_entity_ends_as_if_all_had_come_in_order(ledger: str, request: pytest.FixtureRequest) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, shop_on(ledger, Path(folder), request) as shop:
        explore(shop, EXAMPLES or IN_MAKE_TEST[ledger])


def explore(shop: OrderShop, examples: int) -> None:
    told = Told()
    declare(shop, told)
    with asyncio.Runner() as runner:
        runner.run(shop.open())
        runner.run(shop.inbox.order(shop.registry.ordered_sources))
        given = {"shop": shop, "runner": runner, "told": told, "numbers": count()}
        machine = type("Drawn", (Order,), {**given, "ledger": Watching(shop.ledger, told)})
        try:
            run_state_machine_as_test(
                machine,
                settings=settings(
                    max_examples=examples,
                    stateful_step_count=STEPS,
                    derandomize=not EXAMPLES,
                    deadline=None,
                    database=None,
                    print_blob=True,
                    # To shrink what is found takes minutes: it is for who looks for it.
                    phases=[*Phase] if EXAMPLES else [Phase.generate],
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(shop.close())
