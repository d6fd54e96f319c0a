"""An inbox with an endpoint, a caller that signs, and a worker that runs when a test says so."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from landfast import Event, GiveUp, Inbox, Response, Transaction
from landfast.app.sources import profile_of
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import OverloadedError, SenderError
from landfast.intake.answers import answer_to
from landfast.intake.endpoints import desk
from landfast.intake.receive import Intake
from landfast.providers.signing import signed_request
from landfast.testing.temporary import ShiftedClock

SECRET = "a secret that callers and endpoint share"
PATH = "/internal/provision"
BODY = b'{"account":"a-1"}'
OTHER = b'{"account":"a-2"}'


@dataclass
class Bench:
    inbox: Inbox
    intake: Intake
    clock: ShiftedClock
    ledger: str
    door: asyncio.Event = field(default_factory=asyncio.Event)
    """Functions wait for it; open unless a test closes it."""
    errors: list[Exception] = field(default_factory=list)
    """What the next runs raise, first come first served."""
    runs: list[str] = field(default_factory=list)

    def head(
        self,
        key: str | None = "k-1",
        body: bytes = BODY,
        *,
        method: str = "POST",
        path: str = PATH,
        ago: float = 0.0,
        name: str = "provision",
        without: str = "",
        **changed: str,
    ) -> Head:
        """Signed as it is; `without` a header, or with one `changed`, afterwards."""
        settings = self.inbox.sources[name]
        at = self.clock.now().timestamp() - ago
        given = {"Host": "localhost", "Content-Type": "application/json", "X-Request-Timestamp": str(int(at))}
        if key is not None:
            given["Idempotency-Key"] = key
        signed = dict(given)
        if settings.secrets:
            signed.setdefault("Idempotency-Key", "")
            how: dict[str, Any] = {"method": method, "path": path, "headers": signed}
            draft = signed_request(profile_of(settings), body, SECRET, now=at, id=key or "none", **how)
            given |= {name: value for name, value in draft.headers.items() if name != "Idempotency-Key"}
        given = {each: value for each, value in given.items() if each.lower() != without.lower()}
        given |= {each.replace("_", "-"): value for each, value in changed.items()}
        pairs = [(each.encode(), value.encode()) for each, value in given.items()]
        return Head(method, path, "", Headers(pairs), len(body), "127.0.0.1")

    async def call(self, key: str | None = "k-1", body: bytes = BODY, **how: Any) -> Answer:
        return await self.send(self.head(key, body, **how), body)

    async def send(self, head: Head, body: bytes) -> Answer:
        try:
            admitted = self.intake.admit(head)
        except (SenderError, OverloadedError) as error:
            return answer_to(error)
        return await self.intake.respond(admitted, body)

    async def ask(self, answer: Answer, key: str | None = "k-1", **how: Any) -> Answer:
        """By the link that a call was answered with."""
        link = dict(answer.headers)[b"location"].decode()
        path = f"{PATH.rpartition('/')[0]}/{link}"
        return await self.send(self.head(key, b"", method="GET", path=path, **how), b"")

    async def work(self) -> None:
        """Everything that is due."""
        async with self.inbox.worker() as worker:
            await worker.drain()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """A worker beside the test, until it ends."""
        async with self.inbox.worker() as worker:
            running = asyncio.create_task(worker.run())
            try:
                yield
            finally:
                self.door.set()
                worker.stop()
                await running

    async def writes(self) -> list[str]:
        """What the function has written and committed, in any order."""
        query = "SELECT account FROM accounts ORDER BY account"
        if not self.ledger.startswith("postgresql:"):
            with closing(sqlite3.connect(self.ledger)) as db:
                return [row[0] for row in db.execute(query)]
        connection = await asyncpg.connect(self.ledger)
        try:
            return [row[0] for row in await connection.fetch(query)]
        finally:
            await connection.close()


@asynccontextmanager
async def open_bench(
    folder: Path, *, store: str = "", wait: float = 0.0, declare: Callable[[Inbox], None] | None = None, **options: Any
) -> AsyncIterator[Bench]:
    """On SQLite, or on the PostgreSQL database that `store` names for both."""
    (folder / "none.toml").touch()
    ledger = store or str(folder / "ledger.db")
    inbox = Inbox(folder / "none.toml", store=store or str(folder / "landfast.db"), ledger=ledger)
    clock = ShiftedClock()
    inbox.clock = clock
    made: list[Bench] = []
    options = {"secrets": [SECRET], "wait": wait, **options}

    @inbox.endpoint(PATH, **options)
    async def provision(event: Event, tx: Transaction) -> Any:
        bench = made[0]
        bench.runs.append(event.key)
        await tx.execute("INSERT INTO accounts (account) VALUES ($1)", event.data["account"])
        await bench.door.wait()
        if bench.errors:
            raise bench.errors.pop(0)
        return Response(201, body={"made": event.data["account"]}, headers={"X-Made-By": "provision"})

    if declare is not None:
        declare(inbox)
    await inbox.migrate()
    await _create(ledger)
    # A machine that stands still for a while must not turn an answer into a 202.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(desk, "LOOK_SECONDS_AT_MOST", 60.0)
        async with inbox.intake() as intake:
            bench = Bench(inbox, intake, clock, ledger)
            bench.door.set()
            made.append(bench)
            yield bench


async def _create(ledger: str) -> None:
    table = "CREATE TABLE accounts (account TEXT NOT NULL)"
    if not ledger.startswith("postgresql:"):
        with closing(sqlite3.connect(ledger)) as db:
            db.execute(table)
        return
    connection = await asyncpg.connect(ledger)
    try:
        await connection.execute(table)
    finally:
        await connection.close()


def problem(answer: Answer) -> str:
    """The word of a problem, and that it is one."""
    assert answer.content_type == b"application/problem+json", answer
    told: Mapping[str, Any] = json.loads(answer.body)
    assert told["status"] == answer.status and told["title"], told
    return str(told["type"]).removeprefix("urn:landfast:problem:")


def failure(text: str = "no such plan") -> Exception:
    return GiveUp(text)
