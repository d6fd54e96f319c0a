"""Endpoints inside a host of the user's, ASGI or WSGI, with the worker in the same process; and in the test kit."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from landfast import Inbox
from landfast.domain.delivery import Head
from landfast.testing import TestInbox
from tests.docs.blocks import ROOT, blocks
from tests.endpoints.bench import BODY, PATH, SECRET, Bench, open_bench

pytestmark = pytest.mark.req("R14")


async def test_mounted_in_an_asgi_host_a_caller_waits_for_its_answer_and_the_link_is_below_the_mount(
    tmp_path: Path,
) -> None:
    async with open_bench(tmp_path, wait=60.0) as bench:
        mounted = bench.inbox.asgi()
        async with mounted.lifespan():
            status, headers, body = await _asgi(mounted, bench.head())
            assert (status, body) == (201, b'{"made":"a-1"}')
            assert headers["x-made-by"] == "provision" and headers["content-type"] == "application/json"
        bench.inbox.sources["provision"] = _without_wait(bench)
        apart = bench.inbox.asgi(workers="apart")
        async with apart.lifespan():
            status, headers, _ = await _asgi(apart, bench.head("k-2"))
            assert status == 202
            # The host has mounted us at /hooks, and so the link leads there when it is resolved.
            assert headers["location"].startswith("provision/")
            asked = bench.head("k-2", b"", method="GET", path=f"/internal/{headers['location']}")
            assert (await _asgi(apart, asked))[0] == 202


async def test_mounted_in_a_wsgi_host_a_caller_waits_for_its_answer(tmp_path: Path) -> None:
    async with open_bench(tmp_path, wait=60.0) as bench:
        mounted = bench.inbox.wsgi(workers="inline")
        try:
            told = await asyncio.to_thread(_wsgi, mounted, bench.head())
            again = await asyncio.to_thread(_wsgi, mounted, bench.head())
        finally:
            mounted.close()
        assert told[0] == again[0] == "201 Created" and told[2] == again[2] == b'{"made":"a-1"}'
        assert ("idempotent-replayed", "true") in again[1]
        assert await bench.writes() == ["a-1"]


async def test_the_page_about_endpoints_keeps_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = ModuleType("page")
    for block in blocks(ROOT / "docs/howto/endpoints.md"):
        if block.kind == "python":
            exec(compile(block.text, str(block), "exec"), page.__dict__)
    await page.test_a_call_that_is_repeated_makes_one_account()


async def test_what_the_page_signs_is_what_an_endpoint_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = ModuleType("page")
    for block in blocks(ROOT / "docs/howto/endpoints.md"):
        if block.kind == "python":
            exec(compile(block.text, str(block), "exec"), page.__dict__)
    async with open_bench(tmp_path) as bench:
        head = bench.head()
        made = page.call_headers(SECRET, "k-1", BODY, path=PATH)
        headers = {name.encode(): value.encode() for name, value in made.items()}
        sent = Head("POST", PATH, "", type(head.headers)(headers.items()), len(BODY))
        assert (await bench.send(sent, BODY)).status == 202


async def test_an_open_endpoint_takes_calls_of_this_machine_and_of_no_other(tmp_path: Path) -> None:
    async with open_bench(tmp_path, provider="loopback", secrets=[]) as bench:
        assert (await bench.call()).status == 202
        head = bench.head("k-2")
        other = Head(head.method, head.path, "", head.headers, head.content_length, "192.0.2.7")
        assert (await bench.send(other, BODY)).status == 403
        nowhere = Head(head.method, head.path, "", head.headers, head.content_length, "")
        assert (await bench.send(nowhere, BODY)).status == 403
        assert (await bench.call("k-2", X_Forwarded_For="127.0.0.1")).status == 401


async def test_any_provider_of_a_source_proves_a_caller(tmp_path: Path) -> None:
    (tmp_path / "none.toml").touch()
    inbox = Inbox(tmp_path / "none.toml")
    names = ["standard-webhooks", "gitlab", "github"]
    for name in names:

        @inbox.endpoint(f"/internal/{name}", name=name, provider=name, secrets=["env:NOBODY"], writes=False)
        async def answer(event: Any, tx: Any) -> Any:
            return event.data

    async with TestInbox(inbox) as t:
        for name in names:
            told = await t.call(f"/internal/{name}", {"of": name}, key="k-1")
            assert (told.status, told.json) == (200, {"of": name})


async def _asgi(app: Any, head: Head) -> tuple[int, dict[str, str], bytes]:
    sent: list[dict[str, Any]] = []
    body = BODY if head.method == "POST" else b""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": head.method,
        "path": f"/hooks{head.path}",
        "root_path": "/hooks",
        "query_string": b"",
        "headers": head.headers.pairs,
        "client": ("127.0.0.1", 1),
    }
    await app(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, sent[1]["body"]


def _wsgi(app: Any, head: Head) -> tuple[str, list[tuple[str, str]], bytes]:
    started: list[Any] = []
    headers = {f"HTTP_{name.decode().upper().replace('-', '_')}": value.decode() for name, value in head.headers.pairs}
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": head.path,
        "SCRIPT_NAME": "/hooks",
        "CONTENT_LENGTH": str(len(BODY)),
        "CONTENT_TYPE": "application/json",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.input": io.BytesIO(BODY),
        **{name: value for name, value in headers.items() if not name.startswith("HTTP_CONTENT")},
    }
    body = b"".join(app(environ, lambda *start: started.append(start)))
    return started[0][0], started[0][1], body


def _without_wait(bench: Bench) -> Any:
    settings = bench.inbox.sources["provision"]
    assert settings.endpoint is not None
    return replace(settings, endpoint=replace(settings.endpoint, wait=0.0))
