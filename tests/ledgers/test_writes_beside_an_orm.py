"""`tx.write` beside a session or Django's ORM: what is queued is sent before the statement after it, whoever sends it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections
from sqlalchemy import text

from landfast.domain.event import Event
from landfast.testing.conformance.ledger.desk import orders
from landfast.testing.conformance.ledger.writes import INSERT, transacted
from tests.ledgers.django_desks import (
    DjangoPostgresDesk,
    django_postgres_desk,  # noqa: F401 - a fixture
)
from tests.ledgers.stacks import desk_on

COUNT = "SELECT count(*) FROM shop_order"
KEYS = ["pay_1", "pay_2", "pay_3"]


@pytest.mark.parametrize("stack", ["asyncpg", "sync psycopg"])
async def test_a_session_sees_what_was_queued_before(stack: str, migrated_database: str) -> None:
    seen: list[int] = []

    def handle(event: Event, tx: Any) -> None:
        tx.write(INSERT, event.key)
        if event.key != "pay_1":  # whose write waits for the session of the next event
            seen.append(tx.session.execute(text(COUNT)).scalar_one())

    async def waits(event: Event, tx: Any) -> None:
        tx.write(INSERT, event.key)
        if event.key != "pay_1":
            seen.append((await tx.session.execute(text(COUNT))).scalar_one())

    async with desk_on(stack, migrated_database) as desk:
        await transacted(desk, handle, KEYS, waits)
        assert (seen, await orders(desk)) == ([2, 3], KEYS)


async def test_django_sees_what_was_queued_before(django_postgres_desk: DjangoPostgresDesk) -> None:  # noqa: F811
    desk = django_postgres_desk
    seen: list[int] = []

    def handle(event: Event, tx: Any) -> None:
        tx.write(INSERT, event.key)
        if event.key != "pay_1":
            with connections[desk.alias].cursor() as cursor:
                cursor.execute(COUNT)
                seen.append(cursor.fetchone()[0])

    await transacted(desk, handle, KEYS)
    assert (seen, await orders(desk)) == ([2, 3], KEYS)
