"""What a handler says to its session must not reach another event: neither the next one of its transaction nor
whoever gets the connection after it. A tenant's search_path or role that stays would let the next event write there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from landfast.ports.ledger import LedgerTransaction
from landfast.testing.conformance.ledger.desk import key
from landfast.thread_calls import finish
from tests.django_shop import project
from tests.ledgers.conftest import PostgresDesk
from tests.ledgers.django_desks import DjangoPostgresDesk
from tests.ledgers.psycopg_desks import BlockingPsycopgDesk, PsycopgDesk
from tests.ledgers.stacks import ON_POSTGRES, StackOnPostgres

DESKS: dict[str, Callable[[str], PostgresDesk]] = {
    "asyncpg itself": PostgresDesk,
    "psycopg itself": PsycopgDesk,
    "sync psycopg itself": BlockingPsycopgDesk,
    **{stack: partial(StackOnPostgres, stack) for stack in ON_POSTGRES},
}

LOOK = (
    "SELECT current_setting('search_path') || '|' || current_setting('app.tenant', true) || '|'"
    " || current_setting('role') || '|' || current_setting('statement_timeout')"
)
UNTOUCHED = ('"$user", public||none|0', None)
"""A setting with a dot that was never there is null, and so is all of it."""


@pytest.fixture(params=[*DESKS, "Django"])
async def desk(request: pytest.FixtureRequest, migrated_database: str) -> AsyncIterator[Any]:
    if request.param != "Django":
        desk: Any = DESKS[request.param](migrated_database)
        await desk.open()
        yield desk
        await desk.close()
        return
    with project.database(project.for_postgres(migrated_database)) as alias:
        desk = DjangoPostgresDesk(migrated_database, alias)
        await desk.open()
        yield desk
        await desk.close()


async def run(tx: LedgerTransaction, handler: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    """A handler with `tx`, as a worker runs it."""
    scope = await tx.scope()
    if tx.lane is None:
        await handler(scope.handle)
    else:
        _, error = await tx.lane.start(lambda: finish(handler(scope.handle)), is_async=False).ended
        if error is not None:
            raise error
    await scope.close()


SAID = {
    "for the session": (
        "SET search_path TO pg_catalog",
        "SET app.tenant = 'acme'",
        "SELECT set_config('statement_timeout', '77s', false)",
        "SET ROLE pg_read_all_data",
    ),
    "for the transaction": (
        "SET LOCAL search_path TO pg_catalog",
        "SELECT set_config('app.tenant', 'acme', true)",
        "SET LOCAL statement_timeout = '77s'",
        "SET LOCAL ROLE pg_read_all_data",
    ),
}


@pytest.mark.parametrize("how", SAID)
@pytest.mark.parametrize("ending", ["commit", "rollback"])
async def test_what_a_handler_sets_reaches_nobody_else(desk: Any, how: str, ending: str) -> None:
    seen: list[Any] = []

    async def sets(tx: Any) -> None:
        for statement in SAID[how]:
            await tx.execute(statement)

    async def looks(tx: Any) -> None:
        seen.append(await tx.fetchval(LOOK))

    for number, handlers in enumerate(((looks, sets, looks, sets), (looks,), (looks,))):
        tx = await desk.ledger.begin(deadline=30)
        try:
            await tx.reserve([key(f"evt_{number}")])
            for handler in handlers:
                await run(tx, handler)
            if ending == "commit":
                await tx.commit(results=(), effects=())
        finally:
            await tx.rollback()
    assert all(each in UNTOUCHED for each in seen), seen
