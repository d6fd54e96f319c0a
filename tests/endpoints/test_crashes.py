"""A crash at every step: whoever calls again gets the stored answer, and what the function wrote is there once."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

import pytest

from landfast import Inbox, Response
from landfast.demo.servers import Serve
from landfast.testing.crash_places import BEFORE_ANSWER, PLACES
from landfast.testing.tester import InboxTester
from tests.patience import PATIENCE_SECONDS
from tests.shops import Shop, sqlite_shop, until

pytestmark = pytest.mark.req("R14")

STEPS = [place for place in PLACES if "effect" not in place]
SECRET = "a secret that callers and endpoint share"


@pytest.mark.parametrize("place", [*STEPS, BEFORE_ANSWER])
async def test_at_every_step_a_killed_worker_or_intake_leaves_one_answer_and_one_set_of_writes(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "none.toml").touch()
    inbox = Inbox(tmp_path / "none.toml")

    @inbox.endpoint("/internal/provision", secrets=[SECRET])
    async def provision(event: Any, tx: Any) -> Response:
        await tx.execute("INSERT INTO accounts (account) VALUES ($1)", event.data["account"])
        return Response(201, body={"made": await tx.fetchval("SELECT count(*) FROM accounts")})

    tester = InboxTester(inbox, tmp_path)
    tester.ledger.execute("CREATE TABLE accounts (account TEXT)")
    tester.crash_at(place)
    if place == BEFORE_ANSWER:
        assert (await tester.deliver_body("provision", {"account": "a-1"}, id="k-1")).status == 0
    told = await tester.call("provision", {"account": "a-1"}, key="k-1")
    again = await tester.call("provision", {"account": "a-1"}, key="k-1")
    assert (told.status, told.json) == (again.status, again.json) == (201, {"made": 1})
    assert tester.ledger.execute("SELECT count(*) FROM accounts").fetchone()[0] == 1
    await tester.assert_handled_once("provision", key="k-1")
    tester.close()


KILLED = """
import signal
from landfast import Response
from landfast.inboxes.sqlite.record import Recording
from landfast.inboxes.sqlite.work import Working
from landfast.inboxes.sqlite.settle import Settling
from landfast.intake.endpoints.desk import AnswerDesk
from landfast.ledgers.sqlite.transaction import SqliteTransaction

def die(place):
    # Once, by the one who takes the file away.
    try:
        pathlib.Path(place).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)

def around(owner, name, before, after):
    inner = getattr(owner, name)
    async def outer(self, *args, **named):
        die(before)
        result = await inner(self, *args, **named)
        if result is None or result:
            die(after)
        return result
    setattr(owner, name, outer)

around(Recording, "record", "before record", "after record")
around(Working, "claim", "before claim", "after claim")
around(SqliteTransaction, "reserve", "before receipt", "after receipt")
around(SqliteTransaction, "commit", "before commit", "after commit")
around(Settling, "settle", "before settle", "after settle")
answer = AnswerDesk._answer
def before_answer(self, caller, told):
    if told.status == 201:
        die("before answer")
    answer(self, caller, told)
AnswerDesk._answer = before_answer

@inbox.endpoint("/internal/provision", secrets=["env:PROVISION_SECRET"])
async def provision(event, tx):
    await tx.execute("INSERT INTO orders (event_key) VALUES ($1)", event.key)
    return Response(201, body={"made": event.key})
"""

PLACES_OF_KILLS = [
    "before record",
    "after record",
    "after claim",
    "after receipt",
    "before commit",
    "after commit",
    "after settle",
    "before answer",
]


@pytest.mark.long
async def test_kill_9_at_every_step_of_a_served_call_and_the_caller_that_tries_again_gets_its_one_answer(
    tmp_path: Path,
) -> None:
    shop = sqlite_shop(tmp_path)
    shop.settings["PROVISION_SECRET"] = SECRET
    await shop.create_orders()
    shop.write(KILLED)
    async with shop.serving() as serve:
        for number, place in enumerate(PLACES_OF_KILLS):
            (tmp_path / place).touch()
            answers = [await _answer(shop, serve, f"k-{number}") for _ in range(2)]
            assert answers == [(201, {"made": f"k-{number}"})] * 2, place
            await until((tmp_path / place).exists, False)  # a call is settled after its caller was answered
    assert sorted(await shop.orders()) == [f"k-{number}" for number in range(len(PLACES_OF_KILLS))]


async def _answer(shop: Shop, serve: Serve, key: str) -> tuple[int, Any]:
    """Of a caller that tries again whatever happens, until it has an answer of the endpoint's own."""
    assert shop.folder
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            told = await _post(serve.port, key)
            if told is not None and told[0] not in {202, 503}:
                return told
            await asyncio.sleep(0.05)


async def _post(port: int, key: str) -> tuple[int, Any] | None:
    """None where the connection broke."""
    body, now = b'{"account":"a-1"}', str(int(time.time()))
    signed = f"{now}\nPOST\n/internal/provision\n{key}\n".encode() + body
    signature = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    lines = [
        "POST /internal/provision HTTP/1.1",
        "host: 127.0.0.1",
        f"idempotency-key: {key}",
        f"x-request-timestamp: {now}",
        f"x-signature: {signature}",
        f"content-length: {len(body)}",
        "connection: close",
    ]
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        head, _, content = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return (int(head.split()[1]), json.loads(content)) if head else None
    except OSError:
        return None
