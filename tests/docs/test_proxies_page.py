"""docs/howto/proxies.md: its nginx and HAProxy settings in front of a real server, with real certificates."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import shutil
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from landfast.domain.filter import Filter
from landfast.ports.provider import Secret
from landfast.testing.signing import sign
from tests.docs.blocks import ROOT, blocks
from tests.free_port import free_port
from tests.patience import PATIENCE_SECONDS
from tests.shops import ORDER, SECRET, Shop, sqlite_shop
from tests.web.test_proxies import PATHS, _wait_for

PAGE = ROOT / "docs/howto/proxies.md"
NAME = "hooks.example.com"
SENDER = "127.0.0.2"
"""Not the proxy's address, which is trusted."""
AROUND = {
    "nginx": """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4;
  scgi_temp_path {folder}/5;
  {block}
}}
""",
    "haproxy": "global\n    maxconn 256\n{block}",
}
OPTIONS = {"nginx": ["-e", "/dev/null", "-c"], "haproxy": ["-q", "-f"]}


@dataclass(frozen=True)
class Front:
    port: int
    tls: ssl.SSLContext

    def ask(
        self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, context=self.tls, timeout=PATIENCE_SECONDS, source_address=(SENDER, 0)
        )
        try:
            connection.request(method, path, body, headers or {}, encode_chunked=not isinstance(body, bytes | None))
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[tuple[Shop, int]]:
    """With the settings that the page gives, and a source that the test's own address is allowed for."""
    (settings,) = [block.text for block in blocks(PAGE) if block.kind == "toml"]
    shop = sqlite_shop(tmp_path)
    shop.write(ORDER.replace("payment_intent.succeeded", "*"))
    sources = f'[sources.stripe]\nprovider = "stripe"\nsecrets = ["env:STRIPE_WEBHOOK_SECRET"]\nallow_from = ["{SENDER}"]\nbody_limit = 2000000\n'
    (tmp_path / "landfast.toml").write_text(f"{settings}\n{sources}")
    text = (tmp_path / "shop.py").read_text()
    (tmp_path / "shop.py").write_text(re.sub(r"inbox\.source.+\n", "", text))
    await shop.create_orders()
    async with shop.serving() as serve:
        yield shop, serve.port


@pytest.mark.parametrize("name", AROUND)
async def test_a_webhook_passes_through_as_it_was_sent(name: str, shop: tuple[Shop, int], tmp_path: Path) -> None:
    binary = shutil.which(name, path=PATHS)
    if binary is None:
        pytest.skip(f"{name} is not installed: apt-get install {name}")
    ours, server = shop
    with running(name, binary, tmp_path, server) as front:
        await asyncio.to_thread(look, front)
    async with ours.archive() as archive:
        (found,) = await archive.find(Filter(key="evt_odd"), limit=2)
        assert (await archive.show(found.event_id)).body == ODD


ODD = b'{ "id":"evt_odd",\r\n  "type" : "payment_intent.succeeded", "text":"\\u00e9 \xc3\xa9\\/", "n":1.0e0 }\n'
"""Whatever rewrites JSON would change it."""


def look(front: Front) -> None:
    status, body = front.ask("POST", "/in/stripe", ODD, signed(ODD))
    assert (status, json.loads(body)["status"]) == (200, "stored"), body
    pieces = (ODD[at : at + 7] for at in range(0, len(ODD), 7))
    status, body = front.ask("POST", "/in/stripe", pieces, signed(ODD))
    assert (status, json.loads(body)["status"]) == (200, "duplicate"), "in chunks it is another event"
    large = b'{"id":"evt_large","type":"x","text":"%s"}' % (b"x" * 1_500_000)
    assert front.ask("POST", "/in/stripe", large, signed(large))[0] == 200, "its source takes it, and so must the proxy"
    # A stranger's word about himself: the proxy's own counts.
    claims = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http"}
    again = front.ask("POST", "/in/stripe", ODD, {**signed(ODD), **claims})
    assert again[0] == 200, again
    assert front.ask("GET", "/ready")[0] == 404, "for nobody outside"


def signed(body: bytes) -> dict[str, str]:
    headers = sign("stripe", body, Secret("any", SECRET.encode()), now=time.time())
    return {**headers, "Host": NAME}


@contextmanager
def running(name: str, binary: str, folder: Path, server: int) -> Iterator[Front]:
    (block,) = [each.text for each in blocks(PAGE) if each.kind == name]
    authority = trustme.CA()
    certificate = authority.issue_cert(NAME, "127.0.0.1")
    chain, key, both = folder / "chain.pem", folder / "key.pem", folder / "both.pem"
    certificate.cert_chain_pems[0].write_to_path(chain)
    certificate.private_key_pem.write_to_path(key)
    certificate.private_key_and_cert_chain_pem.write_to_path(both)
    port = free_port()
    changes = {
        "/etc/ssl/hooks.example.com.pem": str(chain),
        "/etc/ssl/private/hooks.example.com.key": str(key),
        "/etc/haproxy/hooks.example.com.pem": str(both),
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "bind :443": f"bind 127.0.0.1:{port}",
        "127.0.0.1:8420": f"127.0.0.1:{server}",
    }
    for said, here in changes.items():
        block = block.replace(said, here)
    assert "8420" not in block and "443 " not in block
    settings = folder / "proxy.conf"
    settings.write_text(AROUND[name].format(folder=folder, block=block))
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(
            [binary, *OPTIONS[name], str(settings)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        _wait_for(port, process)
        tls = ssl.create_default_context()
        authority.configure_trust(tls)
        yield Front(port, tls)
    finally:
        process.kill()
        process.wait()
