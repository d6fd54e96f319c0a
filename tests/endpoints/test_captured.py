"""What a captured call is good for, and what a page in somebody's browser can reach: nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from landfast import Inbox
from landfast.domain.delivery import Head
from landfast.web.asgi import head_of
from landfast.web.http.framing import parse_head
from landfast.web.wsgi import scope_of
from tests.endpoints.bench import BODY, PATH, SECRET, open_bench

pytestmark = pytest.mark.req("R14")

ELSEWHERE = "/internal/close"


def _neighbour(inbox: Inbox) -> None:
    @inbox.endpoint(ELSEWHERE, name="close", secrets=[SECRET], wait=0, writes=False)
    async def close(event: Any, tx: Any) -> Any:
        return event.data


async def test_a_captured_call_is_none_of_another_endpoint_with_the_same_secret(tmp_path: Path) -> None:
    async with open_bench(tmp_path, declare=_neighbour) as bench:
        captured = bench.head()
        assert (await bench.send(captured, BODY)).status == 202
        assert (await bench.send(_moved(captured, path=ELSEWHERE), BODY)).status == 401
        assert (await bench.call(path=ELSEWHERE, name="close")).status == 202


async def test_a_captured_question_starts_nothing_and_asks_about_no_other_call(tmp_path: Path) -> None:
    async with open_bench(tmp_path, declare=_neighbour) as bench:
        first = await bench.call()
        other = await bench.call(path=ELSEWHERE, name="close")
        question = bench.head("k-1", b"", method="GET", path=_linked(first, PATH))
        assert (await bench.send(question, b"")).status == 202
        assert (await bench.send(_moved(question, path=_linked(other, ELSEWHERE)), b"")).status == 401
        # As a call, its body would be empty: with method and path unsigned that is refused for the body alone.
        assert (await bench.send(_moved(question, method="POST", path=PATH), b"")).status == 401


OURS = ["localhost", "LocalHost:8000", "127.0.0.1", "127.8.9.10:8000", "[::1]", "[::1]:8000"]
THEIRS = [
    "rebinding.example.com",
    "rebinding.example.com:8000",
    "localhost.example.com",
    "127.0.0.1.example.com",
    "127.0.0.1@example.com",
    "example.com#localhost",
    "0.0.0.0",
    "10.0.0.7",
    "[::2]:8000",
    "[::1].example.com",
    "",
]


async def test_a_page_whose_name_comes_to_mean_this_machine_calls_no_open_endpoint(tmp_path: Path) -> None:
    async with open_bench(tmp_path, provider="loopback", secrets=[]) as bench:
        for host in OURS:
            assert (await bench.call(host, Host=host)).status == 202, host
        for number, host in enumerate(THEIRS):
            assert (await bench.call(f"k-{number}", Host=host)).status == 401, host
        assert (await bench.call("none", without="Host")).status == 401
        await bench.work()
        assert sorted(bench.runs) == sorted(OURS)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_what_nginx_passes_on_out_of_the_box_calls_no_open_endpoint(tmp_path: Path, version: str) -> None:
    """It comes from this machine, under this machine's address, and without a header that says whose it is."""
    async with open_bench(tmp_path, provider="loopback", secrets=[]) as bench:
        fields = [b"%b: %b\r\n" % pair for pair in bench.head(Host="127.0.0.1:8420", Connection="close").headers.pairs]
        block = b"POST %b HTTP/%b\r\n%b\r\n" % (PATH.encode(), version.encode(), b"".join(fields))
        scope: dict[str, Any] = {
            "method": "POST",
            "path": PATH,
            "headers": bench.head().headers.pairs,
            "client": ("127.0.0.1", 1),
        }
        environ = {"REQUEST_METHOD": "POST", "PATH_INFO": PATH, "SERVER_PROTOCOL": f"HTTP/{version}"}
        for head in (
            parse_head(block, "127.0.0.1").head,
            head_of(scope | {"http_version": version}),
            head_of({**scope_of(environ), "headers": scope["headers"], "client": scope["client"]}),
        ):
            assert (await bench.send(head, BODY)).status == (401 if version == "1.0" else 202)
        for given in ({"X_Forwarded_Proto": "https"}, {"X_Forwarded_Host": "x"}, {"CF_Connecting_IP": "x"}):
            changed: dict[str, Any] = given
            assert (await bench.call("k-2", **changed)).status == 401, given


def _linked(answer: Any, path: str) -> str:
    return f"{path.rpartition('/')[0]}/{dict(answer.headers)[b'location'].decode()}"


def _moved(head: Head, *, path: str, method: str | None = None) -> Head:
    return Head(method or head.method, path, "", head.headers, head.content_length, head.peer)
