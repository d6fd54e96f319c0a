"""The demo's shop as `landfast serve` runs it, in the demo's folder."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

from landfast import Inbox
from landfast.demo.shop_handlers import register

DATABASE = "shop.db"
ORDERS = "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, payment_id TEXT, amount INTEGER)"

inbox = register(Inbox(ledger=DATABASE), Path())


@inbox.lifespan
async def prepare() -> AsyncIterator[None]:
    db = sqlite3.connect(DATABASE)
    db.execute(ORDERS)
    db.close()
    yield
