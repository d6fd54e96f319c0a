"""A test that is given the real database by another name writes to it all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg_pool
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import scoped_session, sessionmaker

from landfast import Inbox
from landfast.domain.errors import UserError
from landfast.testing.chosen_ledger import chosen_ledger

SHOP = "postgresql://shop:secret@localhost:5432/shop"
SAME: dict[str, Any] = {
    "without a port": "postgresql://localhost/shop",
    "another user": "postgresql://tests@127.0.0.1/shop",
    "a socket": "postgresql:///shop?host=/run/postgresql",
    "a driver named": "postgresql+asyncpg://localhost/shop",
    "an engine": create_engine("postgresql+psycopg://localhost/shop"),
    "an engine of asyncio": create_async_engine("postgresql+asyncpg://localhost/shop"),
    "a sessionmaker": sessionmaker(create_engine("postgresql+psycopg2://localhost/shop")),
    "one of asyncio": async_sessionmaker(create_async_engine("postgresql+psycopg://localhost/shop")),
    "a scoped_session": scoped_session(sessionmaker(create_engine("postgresql+psycopg://localhost/shop"))),
    "a pool": psycopg_pool.ConnectionPool("host=localhost dbname=shop", open=False),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("is_turned", [False, True])
def test_the_configured_database_is_refused_under_every_name(name: str, is_turned: bool, tmp_path: Path) -> None:
    own, given = (SAME[name], SHOP) if is_turned else (SHOP, SAME[name])
    with pytest.raises(UserError, match="that is the ledger that the inbox is configured with"):
        chosen_ledger(Inbox(store=str(tmp_path / "inbox.db"), ledger=own).settings, given, tmp_path)


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://localhost/shop_test",
        "postgresql://localhost:5433/shop",
        "postgresql://db.example.com/shop",
        create_engine("postgresql+psycopg://localhost/shop_test"),
        create_engine("sqlite:///shop"),
        psycopg_pool.ConnectionPool("host=localhost dbname=shop_test", open=False),
    ],
)
def test_another_database_is_taken(given: Any, tmp_path: Path) -> None:
    chosen_ledger(Inbox(store=str(tmp_path / "inbox.db"), ledger=SHOP).settings, given, tmp_path)
