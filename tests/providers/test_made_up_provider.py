"""Providers that no catalogue has, from landfast.toml or another package alone, through `landfast serve` as it runs.

What is sent is signed here, with the standard library and nothing of ours.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from landfast.demo.servers import Serve
from landfast.domain.errors import ConfigError
from landfast.providers import provider
from tests.shops import Shop, sqlite_shop, until
from tests.web.client import Client, Reply

SECRET = b"the secret that Acme showed us once"

SETTINGS = """
[sources.acme]
provider = "acme"
secrets = ["env:ACME_SECRET"]

[sources.lots]
provider = "lots"
secrets = ["env:ACME_SECRET"]

[sources.brought]
provider = "brought-by-a-package"
secrets = ["env:ACME_SECRET"]

[providers.acme]
title = "Acme"
signature = "header:Acme-Signature"
content = "{timestamp}.{body}"
prefix = "v1="
separator = ","
timestamp = "entry:t="
key = "body:id"
type = "body:type"
entity = "body:order"

[[providers.acme.handshakes]]
method = "GET"
when = "query:challenge"
text = "{query:challenge}"

[providers.lots]
signature = "header:X-Lots"
algorithm = "sha512"
encoding = "base64"
items = "body:events"
key = "item:id"
type = "item:kind"
refusal = 422
"""

APP = """
from landfast import Inbox
inbox = Inbox()

async def keep(event, tx):
    await tx.execute("INSERT INTO orders (event_key) VALUES ($1)", f"{event.source} {event.type} {event.key}")

for source in ("acme", "lots", "brought"):
    inbox.on(source, "order.*", name=f"keep-{source}")(keep)
"""

PACKAGE = """
from landfast.providers import Profile
from landfast.providers.schemes.signed import SignedScheme

BROUGHT = Profile(
    name="brought-by-a-package",
    scheme=SignedScheme(signature="header:X-Brought", content="{header:X-Shop}|{body}"),
    key="body:id",
    type="body:type",
)
NO_PROFILE = {"name": "none"}
"""

POINTS = """[landfast.providers]
brought-by-a-package = a_package:BROUGHT
no-profile = a_package:NO_PROFILE
no-such-name = a_package:MISSING
no-such-module = not_a_package:BROUGHT
"""


@dataclass(frozen=True)
class Post:
    source: str
    headers: dict[str, str]
    body: bytes

    def written(self) -> bytes:
        lines = [f"POST /in/{self.source} HTTP/1.1", "Host: shop.example", f"Content-Length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


def from_acme(body: bytes, *, secret: bytes = SECRET, ago: float = 0) -> Post:
    at = str(int(time.time() - ago))
    digest = hmac.new(secret, at.encode() + b"." + body, hashlib.sha256).hexdigest()
    return Post("acme", {"Acme-Signature": f"t={at},v1={digest}"}, body)


def from_lots(body: bytes, *, secret: bytes = SECRET) -> Post:
    digest = base64.b64encode(hmac.new(secret, body, hashlib.sha512).digest()).decode()
    return Post("lots", {"X-Lots": digest}, body)


def from_the_package(body: bytes, *, shop: str = "north") -> Post:
    digest = hmac.new(SECRET, b"north|" + body, hashlib.sha256).hexdigest()
    return Post("brought", {"X-Brought": digest, "X-Shop": shop}, body)


def installed(folder: Path) -> Path:
    """A package with entry points, as pip would leave it."""
    folder.mkdir()
    (folder / "a_package.py").write_text(PACKAGE)
    info = folder / "a_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    return folder


@dataclass
class Served:
    shop: Shop
    serve: Serve

    async def ask(self, data: bytes) -> Reply:

        client = Client(*await asyncio.open_connection("127.0.0.1", self.serve.port))
        try:
            return await client.ask(data)
        finally:
            client.abort()

    async def said(self, post: Post) -> tuple[int, str]:
        reply = await self.ask(post.written())
        answer = json.loads(reply.body)
        return reply.status, answer.get("status") or answer["error"]

    async def stored(self) -> int:
        async with self.shop.archive() as archive:
            return int((await archive.census()).events)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    shop = sqlite_shop(tmp_path)
    path = os.pathsep.join(filter(None, [str(installed(tmp_path / "site")), os.environ.get("PYTHONPATH")]))
    shop.settings |= {"ACME_SECRET": SECRET.decode(), "PYTHONPATH": path}
    (tmp_path / "landfast.toml").write_text(SETTINGS)
    (tmp_path / "shop.py").write_text(APP)
    await shop.create_orders()
    async with shop.serving() as serve:
        yield Served(shop, serve)


REFUSED = "signature not verified"


@pytest.mark.req("R2", "R4")
async def test_a_made_up_provider_works_end_to_end_from_the_file_alone(served: Served) -> None:
    order = b'{"id":"o-1","type":"order.made","order":"7"}'
    assert await served.said(from_acme(order)) == (200, "stored")
    assert await served.said(from_acme(order)) == (200, "duplicate")
    assert await served.said(from_acme(order + b" ")) == (200, "duplicate"), "the id is the same, and that counts"
    assert await served.said(from_acme(b'{"id":"o-2","type":"order.paid"}')) == (200, "stored")
    for forged in (
        from_acme(order.replace(b"o-1", b"o-3"), secret=b"somebody else's secret, as long"),
        from_acme(order.replace(b"o-1", b"o-3"), ago=400),
        Post("acme", from_acme(order).headers, order.replace(b"o-1", b"o-3")),
        Post("acme", {}, order),
    ):
        assert await served.said(forged) == (401, REFUSED)
    greeting = await served.ask(b"GET /in/acme?challenge=a%3Cb HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (greeting.status, greeting.body, greeting.headers["content-type"]) == (
        200,
        b"a<b",
        "text/plain; charset=utf-8",
    )
    await until(_sorted_orders(served), ["acme order.made o-1", "acme order.paid o-2"])
    assert await served.stored() == 2


@pytest.mark.req("R2", "R4")
async def test_a_made_up_provider_that_sends_many_events_in_one_request(served: Served) -> None:
    first = b'{"events":[{"id":"1","kind":"order.made"},{"id":"2","kind":"order.paid"}]}'
    assert await served.said(from_lots(first)) == (200, "stored")
    assert await served.said(from_lots(first)) == (200, "duplicate")
    assert await served.said(
        from_lots(b'{"events":[{"id":"2","kind":"order.paid"},{"id":"3","kind":"order.sent"}]}')
    ) == (
        200,
        "stored",
    )
    assert await served.said(from_lots(b'{"events":[{"id":"4"}]}', secret=b"another")) == (422, REFUSED)
    assert await served.said(from_lots(b'{"events":[]}')) == (200, "empty")
    await until(_sorted_orders(served), ["lots order.made 1", "lots order.paid 2", "lots order.sent 3"])
    assert await served.stored() == 3


@pytest.mark.req("R2")
async def test_a_provider_that_another_package_brings(served: Served) -> None:
    order = b'{"id":"o-1","type":"order.made"}'
    assert await served.said(from_the_package(order)) == (200, "stored")
    assert await served.said(from_the_package(order)) == (200, "duplicate")
    assert await served.said(from_the_package(b'{"id":"o-2","type":"order.made"}', shop="south")) == (401, REFUSED)
    await until(_sorted_orders(served), ["brought order.made o-1"])


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no-profile", "the entry point 'no-profile' of landfast.providers must be a landfast.providers.Profile"),
        ("no-such-name", "the entry point 'no-such-name' of landfast.providers cannot be loaded: .*MISSING"),
        ("no-such-module", "the entry point 'no-such-module' of landfast.providers cannot be loaded: .*not_a_package"),
    ],
)
def test_an_entry_point_that_brings_no_profile_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, sentence: str
) -> None:
    monkeypatch.syspath_prepend(installed(tmp_path / "site"))
    with pytest.raises(ConfigError, match=sentence):
        provider(name)


def _sorted_orders(served: Served) -> Callable[[], Awaitable[list[str]]]:
    async def look() -> list[str]:
        return sorted(await served.shop.orders())

    return look
