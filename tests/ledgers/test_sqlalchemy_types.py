"""A handler's own types are checked: mypy passes the right ones, and finds the wrong ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.req("R20"), pytest.mark.long]

HANDLERS = """
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from landfast import BlockingTransaction, Effect, Event, Inbox, Transaction


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    amount: Mapped[int]


inbox = Inbox(ledger=create_async_engine("postgresql+asyncpg://localhost/shop"))
sync = Inbox(ledger=create_engine("postgresql+psycopg://localhost/shop"), scoped=None, desk=None)


@inbox.effect
async def confirm(effect: Effect, order_id: int) -> None: ...


@inbox.on("stripe", "*")
async def waits(event: Event, session: AsyncSession, tx: Transaction) -> None:
    order = Order(amount=1)
    session.add(order)
    await session.flush()
    tx.stage(confirm, order_id=order.id)
    await tx.execute("SELECT $1", 1)


@sync.on("stripe", "*")
def blocks(event: Event, session: Session, tx: BlockingTransaction) -> None:
    order = session.get(Order, 1)
    if order is not None:
        order.amount += 1
    tx.execute("SELECT 1")
    tx.session.flush()
"""

WRONG = """

@inbox.on("stripe", "*")
async def wrong(event: Event, session: AsyncSession, tx: Transaction) -> None:
    session.ad(Order(amount=1))  # WRONG
    order = await session.get(Order, 1)
    order.amount  # WRONG
    tx.commit()  # WRONG
    session.flush().amount  # WRONG
"""


def test_mypy_checks_what_a_handler_does_with_its_session(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(HANDLERS + WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary", str(file)]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    lines = {int(found) for found in re.findall(r"shop\.py:(\d+): error", told)}
    expected = {number for number, line in enumerate(file.read_text().splitlines(), 1) if "# WRONG" in line}
    assert lines == expected, told
