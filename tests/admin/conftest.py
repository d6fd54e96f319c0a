"""The admin API of a shop, asked without a socket, on both stores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from landfast import Event, Inbox, Transaction
from landfast.admin.access.token_book import KNOWN_SECONDS
from landfast.admin.app import make_app
from landfast.admin.desk import Desk
from landfast.admin.pages import sidebar
from landfast.admin.route import Route
from landfast.domain.access import Role
from landfast.operations import tokens
from landfast.testing.clock import ManualClock
from landfast.testing.factory import DAWN
from tests.patience import PATIENCE_SECONDS

HERE = "http://127.0.0.1:8421"


class Admin:
    """`client` asks as a program on this machine would."""

    def __init__(self, inbox: Inbox, app: Starlette, client: httpx.AsyncClient, clock: ManualClock | None) -> None:
        self.inbox = inbox
        self.app: Any = app
        self.desk: Desk = app.state.desk
        self.client = client
        self.clock = clock

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.client.get(path, headers=_headers(headers))

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return await self.client.post(path, json={} if body is None else body, headers=_headers(headers))

    async def token(self, role: Role, name: str = "") -> str:
        """As the header that shows it. From now on nobody gets in without one."""
        made = await tokens.create(
            self.desk.archive,
            name or f"the-{role}",
            role,
            lasting=None,
            who="ada",
            why="",
            chance=self.inbox.chance,
        )
        self.forget_tokens()
        return f"Bearer {made}"

    def forget_tokens(self) -> None:
        """What the API knew of them is too old to be believed."""
        if self.clock is not None:
            self.clock.advance(KNOWN_SECONDS + 1)


def _headers(given: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in given.items()}


@asynccontextmanager
async def serving(inbox: Inbox, *, is_loopback: bool = True) -> AsyncIterator[Admin]:
    app = make_app(inbox, is_loopback=is_loopback)
    clock = inbox.clock if isinstance(inbox.clock, ManualClock) else None
    async with app.router.lifespan_context(app):
        await app.state.desk.open()
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HERE) as client:
            yield Admin(inbox, app, client, clock)


def shop(**settings: str) -> Inbox:
    inbox = Inbox(**settings)
    inbox.source("shop", provider="stripe", secrets=["whsec_" + "a" * 32])

    @inbox.on("shop", "order.*")
    async def create_order(event: Event, tx: Transaction) -> None:
        await tx.execute("SELECT 1")

    return inbox


@pytest.fixture(autouse=True)
def time_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that stands still a question may take long; a test of one that takes too long gives it no time."""
    given: Any = Route.__dict__["seconds"]
    patient = property(lambda route: PATIENCE_SECONDS if given.__get__(route) else 0.0, given.__set__)
    monkeypatch.setattr(Route, "seconds", patient)
    monkeypatch.setattr(sidebar, "ASK_SECONDS", PATIENCE_SECONDS)


@pytest.fixture
async def admin(tmp_path: Path) -> AsyncIterator[Admin]:
    """On SQLite, with a clock that the test holds."""
    inbox = shop(store=f"sqlite:{tmp_path / 'inbox.db'}", ledger=f"sqlite:{tmp_path / 'ledger.db'}")
    inbox.clock = ManualClock(DAWN)
    await inbox.migrate()
    async with serving(inbox) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
async def either(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Admin]:
    """On each store, with real time."""
    if request.param == "sqlite":
        inbox = shop(store=f"sqlite:{tmp_path / 'inbox.db'}", ledger=f"sqlite:{tmp_path / 'ledger.db'}")
    else:
        dsn = request.getfixturevalue("migrated_database")
        inbox = shop(store=dsn, ledger=dsn)
    await inbox.migrate()
    async with serving(inbox) as made:
        yield made
