"""A shop whose handlers write to a real MariaDB, with SQLAlchemy on the loop and in threads: the storm, with kills."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.storm import Example
from tests.mariadb import MariaDb

SHOP = """
import os
from sqlalchemy import String, create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from landfast import Event, Inbox

class Base(DeclarativeBase):
    pass

class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    payment_id: Mapped[str] = mapped_column(String(200))

URL = os.environ["DATABASE_URL"]
inbox = Inbox(ledger=create_async_engine(URL) if "aiomysql" in URL else create_engine(URL))
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])

{handler}
    session.add(Order(payment_id=event.data["data"]["object"]["id"]))
"""
ON_THE_LOOP = """
@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event: Event, session: AsyncSession):
"""
IN_A_THREAD = """
@inbox.on("stripe", "payment_intent.succeeded")
def create_order(event: Event, session: Session):
"""


@pytest.mark.long
@pytest.mark.req("R20")
@pytest.mark.parametrize(("driver", "handler"), [("aiomysql", ON_THE_LOOP), ("pymysql", IN_A_THREAD)])
async def test_a_storm_with_kills_on_mariadb_makes_one_order_for_each_payment(
    mariadb: MariaDb, mariadb_database: str, tmp_path: Path, driver: str, handler: str
) -> None:
    url = mariadb.url(mariadb_database, driver=driver)
    mariadb.execute(
        "CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, payment_id VARCHAR(200))", database=mariadb_database
    )
    shop = Example("plain", tmp_path, store=str(tmp_path / "landfast.db"), env={"DATABASE_URL": url})
    (shop.folder / "shop.py").write_text(SHOP.format(handler=handler.strip()))

    def orders() -> list[str]:
        return [row[0] for row in mariadb.execute("SELECT payment_id FROM orders", database=mariadb_database)]

    async with shop.running(["-m", "landfast", "serve", "shop.py", "--port", "{port}"]):
        await shop.storm(orders, payments=3, times=30)
