"""Real proxies in front: whatever a client sends, no request is framed differently by the two.

The proxy writes an id of its own into each request that it forwards. So a request that reaches intake without one, or
with one that was there before, is a request that the proxy did not see: it was smuggled past it in another's body.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from landfast.domain.delivery import Head
from landfast.intake.receive import Admitted
from tests.free_port import free_port
from tests.intake.desk import body
from tests.patience import PATIENCE_SECONDS
from tests.web.client import PATIENCE, Shop
from tests.web.hostile import BODY, CLOSED, FINE, KEPT, Build

NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_max_body_size 10m; underscores_in_headers on;
  client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4;
  scgi_temp_path {folder}/5;
  upstream intake {{ server 127.0.0.1:{server}; keepalive 16; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://intake; proxy_http_version 1.1; proxy_request_buffering off;
      proxy_set_header Connection ""; proxy_set_header Host $host; proxy_set_header X-Proxied $request_id;
    }}
  }}
}}
"""
HAPROXY = """
global
  maxconn 1000
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
  http-reuse always
frontend all
  bind 127.0.0.1:{port}
  http-request set-header X-Proxied %[uuid()]
  default_backend intake
backend intake
  server one 127.0.0.1:{server}
"""
PROXIES = {"nginx": (NGINX, ["-e", "/dev/null", "-c"]), "haproxy": (HAPROXY, ["-q", "-f"])}
PATHS = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"

AT_ONCE = 40
ANSWER_SECONDS = 0.3
"""For an answer to a request that may never get one: proxies wait for the rest of what is incomplete."""

STARTS_WITHIN = PATIENCE_SECONDS
ENOUGH = 100

TAIL = b"POST /in/stripe HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 0\r\nX-Tail: 1\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked"


def _hidden(*lines: str, content: bytes) -> Build:
    head = "\r\n".join(["POST /in/stripe HTTP/1.1", "Host: shop.example", *lines]).encode()
    return lambda _: head + b"\r\n\r\n" + content


SMUGGLED: dict[str, Build] = {
    "in chunks, by length": _hidden("Content-Length: 4", CHUNKED, content=b"0\r\n\r\n" + TAIL),
    "by length, in chunks": _hidden(CHUNKED, f"Content-Length: {5 + len(TAIL)}", content=b"0\r\n\r\n" + TAIL),
    "behind two lengths": _hidden("Content-Length: 0", f"Content-Length: {len(TAIL)}", content=TAIL),
    "behind a folded coding": _hidden("Content-Length: 0", "Transfer-Encoding:\r\n chunked", content=TAIL),
    "behind a coding with a tab": _hidden("Transfer-Encoding:\tchunked", content=b"0\r\n\r\n" + TAIL),
    "behind a coding with a blank": _hidden("Transfer-Encoding : chunked", content=b"0\r\n\r\n" + TAIL),
    "behind a quoted coding": _hidden('Transfer-Encoding: "chunked"', "Content-Length: 0", content=TAIL),
    "in a trailer": _hidden(CHUNKED, content=b"0\r\nX-A: b\r\n\r\n" + TAIL),
    "in a chunk extension": _hidden(CHUNKED, content=b"1;a=\n\r\nx\r\n0\r\n\r\n" + TAIL),
    "in a chunk": _hidden(CHUNKED, content=b"%x\r\n%s\r\n0\r\n\r\n" % (len(TAIL), TAIL)),
    "in a body": _hidden(f"Content-Length: {len(TAIL)}", content=TAIL),
    "behind a bare LF": _hidden("Content-Length: 0\nX-A: b", content=TAIL),
    "behind a bare CR": _hidden("X-A: b\rContent-Length: 0", content=TAIL),
    "behind a connection header": _hidden("Connection: Content-Length", f"Content-Length: {len(TAIL)}", content=TAIL),
    "behind an upgrade": _hidden("Connection: Upgrade", "Upgrade: h2c", "Content-Length: 0", content=TAIL),
    "behind a length with a plus": _hidden("Content-Length: +0", content=TAIL),
    "behind a chunk size of 2^64": _hidden(CHUNKED, content=b"10000000000000000\r\n\r\n" + TAIL),
    "behind HTTP/1.0 chunks": lambda _: (
        b"POST /in/stripe HTTP/1.0\r\n" + CHUNKED.encode() + b"\r\n\r\n0\r\n\r\n" + TAIL
    ),
}


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", PROXIES)
async def test_no_request_is_framed_differently_by_a_proxy_and_by_us(shop: Shop, name: str, tmp_path: Path) -> None:
    binary = shutil.which(name, path=PATHS)
    if binary is None:
        pytest.skip(f"{name} is not installed: apt-get install {name}")
    seen = _ids_of_admitted(shop)
    with _running(name, binary, tmp_path, shop.port) as port:
        refused = [build for build, _ in [*CLOSED.values(), *KEPT.values()]]
        builds = [*refused, *FINE.values(), *SMUGGLED.values()]
        assert len(builds) >= ENOUGH
        room = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(_send(room, port, build(shop) + TAIL) for build in builds))
        answer = await _send(room, port, shop.post(body(4_711)), seconds=PATIENCE, is_patient=True)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert len(seen) >= ENOUGH // 10, "void: the proxy forwards nothing"
    assert all(len(ids) == 1 for ids in seen), "a request that the proxy did not see"
    assert len({ids[0] for ids in seen}) == len(seen), "one request of the proxy's was two of ours"
    assert {each.body for each in shop.desk.recorder.events.values()} <= {BODY, body(4_711)}
    assert shop.desk.is_balanced()


def _ids_of_admitted(shop: Shop) -> list[list[bytes]]:
    seen: list[list[bytes]] = []
    admit = shop.desk.intake.admit

    def noted(head: Head) -> Admitted:
        seen.append([value for header, value in head.headers if header == b"x-proxied"])
        return admit(head)

    shop.desk.intake.admit = noted  # type: ignore[method-assign]
    return seen


async def _send(
    room: asyncio.Semaphore, port: int, data: bytes, *, seconds: float = ANSWER_SECONDS, is_patient: bool = False
) -> bytes:
    """Whatever comes back in a while; for who is patient, its first piece."""
    came = b""
    async with room:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(OSError, TimeoutError):
            writer.write(data)
            async with asyncio.timeout(seconds):
                while not (is_patient and came) and (piece := await reader.read(65_536)):
                    came += piece
        writer.transport.abort()
    return came


@contextmanager
def _running(name: str, binary: str, folder: Path, server: int) -> Iterator[int]:
    written, options = PROXIES[name]
    port = free_port()
    settings = folder / "proxy.conf"
    settings.write_text(written.format(folder=folder, port=port, server=server))
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([binary, *options, str(settings)], **quiet)
    try:
        _wait_for(port, process)
        yield port
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(int(STARTS_WITHIN / 0.05)):
        assert process.poll() is None, "the proxy has ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        else:
            return
    raise AssertionError("the proxy does not listen")
