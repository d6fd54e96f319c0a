"""One order with SQLAlchemy's ORM, in a handler and by itself."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import BigInteger, create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from landfast.ports.ledger import Scope

_numbers = itertools.count()
_thread = ThreadPoolExecutor(1)
"""For what runs without Landfast: a worker's loop cannot wait for a blocking driver either."""


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "stack_order"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    payment: Mapped[str]


@asynccontextmanager
async def engine(dsn: str, driver: str, *, is_async: bool) -> AsyncIterator[Any]:
    url = dsn.replace("postgresql://", f"postgresql+{driver}://")
    made: Any = create_async_engine(url) if is_async else create_engine(url)
    try:
        yield made
    finally:
        await made.dispose() if is_async else made.dispose()


async def waits(scope: Scope, payment: str) -> None:
    scope.given("session").add(Order(payment=payment))


def blocks(scope: Scope, payment: str) -> None:
    scope.given("session").add(Order(payment=payment))


async def waits_alone(made: Any, size: int) -> None:
    """Flushed for each, as each event of a group is; read committed and durable, as a plain session is."""
    async with AsyncSession(made) as session:
        for _ in range(size):
            session.add(Order(payment=f"pay_{next(_numbers)}"))
            await session.flush()
        await session.commit()


async def blocks_alone(made: Any, size: int) -> None:
    """In a thread, as a handler is, but all of it in one go."""

    def work() -> None:
        with Session(made) as session:
            for _ in range(size):
                session.add(Order(payment=f"pay_{next(_numbers)}"))
                session.flush()
            session.commit()

    await asyncio.get_running_loop().run_in_executor(_thread, work)
