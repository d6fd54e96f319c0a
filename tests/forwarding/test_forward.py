"""Events sent on over HTTP: signed, under one key, once for each target; and what each answer means."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from landfast import Inbox
from landfast.app.forwards import sending_nothing
from landfast.cli import main
from landfast.domain.dependency import Dependency
from landfast.domain.errors import NoAnswerError, TargetAnsweredError
from landfast.domain.event import Event
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.testing import TestInbox
from landfast.testing.factory import DAWN
from tests.alerting.receivers import HttpReceiver
from tests.patience import PATIENCE_SECONDS

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
OLD_SECRET = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="

EVENT = Event(
    id="ab" * 16,
    source="shop",
    key="msg_1",
    type="order.created",
    entity=None,
    occurred_at=None,
    received_at=DAWN,
    headers={"content-type": "application/json"},
    body=b"{}",
    data={},
    attempt=1,
    run=1,
)


def sidecar(*urls: str, **options: Any) -> Inbox:
    inbox = Inbox()
    inbox.source("shop", provider="standard-webhooks", secrets=[SECRET])
    for number, url in enumerate(urls, 1):
        given: dict[str, Any] = {"source": "shop", "secrets": [SECRET], "allow": ["127.0.0.1"], **options}
        inbox.forward(f"target{number}", url=url, **given)
    return inbox


async def states(test: TestInbox) -> dict[State, int]:
    return {state: count for state, count in (await test.archive.census()).states.items() if count}


@pytest.mark.req("R66")
async def test_a_target_gets_the_exact_bytes_signed_so_that_a_source_of_ours_would_take_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = b'{"type":"order.created",  "data": {"id": 7}}'
    async with HttpReceiver().listening() as service, TestInbox(sidecar(service.url)) as test:
        delivered = await test.deliver("shop", body, id="msg_1")
        await test.drain()
        assert await states(test) == {State.DONE: 1}
        (row,) = test.ledger.execute("SELECT result FROM landfast_receipt")
        assert json.loads(row["result"]) == {"status": 200, "body": "ok"}
    (got,) = service.got
    assert got.body == body
    assert got.headers["idempotency-key"] == got.headers["webhook-id"] == delivered.event
    assert got.headers["landfast-source"] == "shop"
    assert got.headers["landfast-key"] == "msg_1"
    (tmp_path / "body").write_bytes(got.body)
    headers = [part for name, value in got.headers.items() for part in ("--header", f"{name}: {value}")]
    asked = ["--provider", "standard-webhooks", "--secret", SECRET, "--body-file", str(tmp_path / "body")]
    assert main(["verify-signature", *asked, "--now", got.headers["webhook-timestamp"], "--json", *headers]) == 0
    capsys.readouterr()


@pytest.mark.req("R66")
async def test_each_target_has_its_own_receipt_and_a_retry_sends_to_the_one_that_failed_alone() -> None:
    busy = HttpReceiver(answers=[(409, "busy")])
    async with HttpReceiver().listening() as well, busy.listening(), TestInbox(sidecar(well.url, busy.url)) as test:
        await test.deliver("shop", {"type": "order.created"}, id="msg_1")
        await test.drain(raises=False)
        assert await states(test) == {State.DELAYED: 1}
        test.advance(60)
        await test.drain()
        assert await states(test) == {State.DONE: 1}
    assert (len(well.got), len(busy.got)) == (1, 2)
    assert {one.headers["idempotency-key"] for one in busy.got} == {well.got[0].headers["idempotency-key"]}
    assert [one.headers["landfast-attempt"] for one in busy.got] == ["1", "2"]


@pytest.mark.req("R29", "R66")
async def test_an_ordered_target_gets_nothing_of_an_entity_before_what_it_refused_is_through() -> None:
    service = HttpReceiver(answers=[(409, "busy")])
    async with service.listening():
        inbox = sidecar(service.url, ordered=True)
        inbox.sources["shop"] = replace(inbox.sources["shop"], ordered_by="data.order")
        async with TestInbox(inbox) as test:
            for key, order in (("msg_1", "a"), ("msg_2", "a"), ("msg_3", "b")):
                await test.deliver("shop", {"type": "order.changed", "data": {"order": order}}, id=key)
            await test.drain(raises=False)
            assert await states(test) == {State.DELAYED: 1, State.QUEUED: 1, State.DONE: 1}
            test.advance(60)
            await test.drain()
            assert await states(test) == {State.DONE: 3}
    sent = [one.headers["landfast-key"] for one in service.got]
    assert [key for key in sent if key != "msg_3"] == ["msg_1", "msg_1", "msg_2"]


@pytest.mark.parametrize(
    ("answer", "then"),
    [
        ((204, ""), State.DONE),
        ((400, "no such order"), State.DEAD),
        ((404, ""), State.DEAD),
        ((410, ""), State.DEAD),
        ((302, ""), State.DELAYED),
        ((409, ""), State.DELAYED),
        ((425, ""), State.DELAYED),
        ((429, ""), State.DELAYED),
        ((500, ""), State.DELAYED),
    ],
)
@pytest.mark.req("R66")
async def test_what_a_target_answers_decides_what_becomes_of_the_event(answer: tuple[int, str], then: State) -> None:
    async with HttpReceiver(answers=[answer]).listening() as service, TestInbox(sidecar(service.url)) as test:
        await test.deliver("shop", {"type": "order.created"}, id="msg_1")
        await test.drain(raises=False)
        assert await states(test) == {then: 1}
        assert len(service.got) == 1  # a redirect is not followed
        if then is State.DEAD:
            (letter,) = await test.archive.find(Filter(state=State.DEAD), limit=1)
            assert str(answer[0]) in letter.message


async def test_a_service_that_is_away_costs_no_attempt_and_gets_each_event_once_when_it_is_back() -> None:
    service = HttpReceiver()
    async with service.listening():
        pass  # its port is free now, and nobody listens
    async with TestInbox(sidecar(service.url, attempts=1)) as test:
        for number in range(8):
            await test.deliver("shop", {"type": "order.created"}, id=f"msg_{number}")
        for _ in range(6):
            await test.drain(raises=False)
            test.advance(31)
        async with service.listening():
            for _ in range(12):
                await test.drain(raises=False)
                test.advance(31)
            assert await states(test) == {State.DONE: 8}
    assert sorted(one.headers["landfast-key"] for one in service.got) == [f"msg_{n}" for n in range(8)]
    assert {one.headers["landfast-attempt"] for one in service.got} == {"1"}


async def test_a_filter_by_type_leaves_the_others_unhandled() -> None:
    async with HttpReceiver().listening() as service, TestInbox(sidecar(service.url, type="order.*")) as test:
        await test.deliver("shop", {"type": "order.created"}, id="msg_1")
        await test.deliver("shop", {"type": "customer.created"}, id="msg_2")
        await test.drain()
        assert await states(test) == {State.DONE: 1, State.UNHANDLED: 1}
    assert [one.headers["landfast-type"] for one in service.got] == ["order.created"]


async def test_what_a_sender_chose_writes_no_header_of_ours() -> None:
    async with HttpReceiver().listening() as service:
        (target,) = sidecar(service.url).forwards.values()
        chosen = {"type": "order\r\nx-admin: yes\r\n\r\nüber 100%", "key": "k" * 5_000}
        await target.send(replace(EVENT, **chosen), None)  # type: ignore[arg-type]
    (got,) = service.got
    assert "x-admin" not in got.headers
    assert got.headers["landfast-type"] == "order%0D%0Ax-admin: yes%0D%0A%0D%0A%C3%BCber 100%25"
    assert len(got.headers["landfast-key"]) == 1_000


async def test_while_a_secret_is_changed_each_of_them_signs() -> None:
    async with (
        HttpReceiver().listening() as service,
        TestInbox(sidecar(service.url, secrets=[SECRET, OLD_SECRET])) as test,
    ):
        await test.deliver("shop", {"type": "order.created"}, id="msg_1")
        await test.drain()
    first, second = service.got[0].headers["webhook-signature"].split(" ")
    assert first != second
    assert first.startswith("v1,")
    assert second.startswith("v1,")


@asynccontextmanager
async def speaking(said: bytes) -> AsyncIterator[str]:
    """A server that says these bytes, whatever it is asked, and hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", 200),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n", 201),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", 200),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9000000\r\n\r\n" + b"x" * 2_000_000, 200),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok and more than it announced", 200),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok and more", 200),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n", 200),
        (b"HTTP/1.1 503 No\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n", 503),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nbroken", None),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000, None),
        (b"220 mail.example.com ESMTP\r\n", None),
        (b"", None),
    ],
)
async def test_only_a_whole_answer_is_one_and_little_of_it_is_kept(said: bytes, status: int | None) -> None:
    async with speaking(said) as url:
        inbox = sidecar(url)
        async with TestInbox(inbox) as test:
            await test.deliver("shop", {"type": "order.created"}, id="msg_1")
            await test.drain(raises=False)
            errors = [failure.error for failure in test.errors]
            if status is None:
                assert isinstance(errors[0], NoAnswerError)
            elif status == 503:
                assert isinstance(errors[0], TargetAnsweredError)
                assert errors[0].headers == {"Retry-After": "7"}
            else:
                (row,) = test.ledger.execute("SELECT result FROM landfast_receipt")
                found = json.loads(row["result"])
                assert found["status"] == status
                assert len(found["body"]) <= 4096


async def test_a_target_that_hangs_is_given_up_after_its_timeout() -> None:
    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with server:
        inbox = sidecar(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", timeout=0.1)
        async with TestInbox(inbox) as test:
            await test.deliver("shop", {"type": "order.created"}, id="msg_1")
            await test.drain(raises=False)
            (failure,) = test.errors
    assert "did not answer within 0.1 s" in str(failure.error)


class HungResolver:
    """Until it is let go."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.goes_on, self.has_answered = threading.Event(), threading.Event()

    def __call__(self, *_: Any, **__: Any) -> list[Any]:
        self.threads.append(threading.current_thread())
        self.goes_on.wait(PATIENCE_SECONDS)
        self.has_answered.set()
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


def test_a_resolver_that_hangs_keeps_neither_a_blocking_handler_nor_the_end_of_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A handler that is kept beyond its deadline is killed with its process, until its event is a dead letter."""
    resolver = HungResolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    (target,) = sidecar("https://billing.example.com/", timeout=0.1).forwards.values()
    with pytest.raises(NoAnswerError, match=r"did not answer within 0\.1 s"):
        target.send_blocking(EVENT, None)
    assert not resolver.has_answered.is_set()
    (thread,) = resolver.threads
    assert thread.daemon
    resolver.goes_on.set()
    thread.join(PATIENCE_SECONDS)  # its loop is closed by now: what it raised would fail this test
    assert not thread.is_alive()


def test_order_is_passed_on_to_the_handler() -> None:
    class Ordering(Inbox):
        told: dict[str, Any]

        def on(self, *given: Any, ordered: bool = False, **options: Any) -> Any:
            self.told = {**options, "ordered": ordered}
            return super().on(*given, **options)

    inbox = Ordering()
    inbox.source("shop", provider="standard-webhooks", secrets=[SECRET])
    inbox.forward("a", url="https://a.example.com/", source="shop", secrets=[SECRET], ordered=True, concurrency=3)
    assert inbox.told["ordered"] is True
    assert inbox.told["concurrency"] == 3
    assert inbox.told["writes"] is False
    assert inbox.told["uses"] == ["a"]


def test_targets_that_are_one_service_share_its_breaker_and_its_rate() -> None:
    inbox = sidecar("https://a.example.com/", "https://a.example.com/other", uses="service")
    inbox.dependency("service", rate=10)
    assert inbox.registry.used == {"service"}
    assert inbox.registry.dependencies == {"service": Dependency("service", 10.0)}


async def test_a_proof_or_a_dry_run_sends_nothing() -> None:
    async with HttpReceiver().listening() as service:
        inbox = sidecar(service.url)
        (handler,) = sending_nothing(inbox).handlers
        assert "not sent" in await handler.function(EVENT, None)
        assert sending_nothing(Inbox()).handlers == []
    assert service.got == []
