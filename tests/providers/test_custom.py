"""Providers that a user adds, in landfast.toml alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from landfast.app import Inbox
from landfast.domain.errors import ConfigError
from landfast.domain.event import Event
from landfast.providers import provider
from landfast.providers.custom import described
from landfast.testing import TestInbox

TABLE = """
[sources.shop]
provider = "made-up"
secrets = ["env:MADE_UP_SECRET"]

[providers.made-up]
title = "Made up"
signature = "header:X-Made-Up"
algorithm = "sha512"
encoding = "base64url"
content = "{timestamp}:{header:X-Shop?}:{body}"
prefix = "v9="
separator = ","
timestamp = "entry:t="
timestamp_unit = "ms"
key = "item:id"
type = "item:kind"
items = "body:events"
refusal = 422

[[providers.made-up.handshakes]]
method = "GET"
when = "query:challenge"
text = "{query:challenge}"
"""


@pytest.mark.req("R2")
async def test_a_made_up_provider_works_end_to_end_from_the_file_alone(tmp_path: Path) -> None:
    (tmp_path / "landfast.toml").write_text(TABLE)
    inbox = Inbox(tmp_path / "landfast.toml")
    handled: list[tuple[str, Any]] = []

    @inbox.on("shop", "order.*")
    async def keep(event: Event, tx: Any) -> None:
        handled.append((event.key, event.data))

    async with TestInbox(inbox) as test:
        body = {"events": [{"id": "1", "kind": "order.made"}, {"id": "2", "kind": "order.paid"}]}
        assert (await test.deliver("shop", body)).body["status"] == "stored"
        assert (await test.deliver("shop", body)).body["status"] == "duplicate"
        overlapping = {"events": [{"id": "2", "kind": "order.paid"}, {"id": "3", "kind": "order.sent"}]}
        assert (await test.deliver("shop", overlapping)).body["status"] == "stored"
        assert (await test.deliver("shop", {"events": []})).body["status"] == "empty"
        await test.drain()
    assert sorted(handled) == [
        ("1", {"id": "1", "kind": "order.made"}),
        ("2", {"id": "2", "kind": "order.paid"}),
        ("3", {"id": "3", "kind": "order.sent"}),
    ]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"scheme": "magic"}, "providers.acme: scheme 'magic' is not known: use signed, token, jwt"),
        ({}, "providers.acme: signature is missing"),
        ({"signatur": "header:X"}, "providers.acme: there is no field 'signatur': did you mean signature?"),
        ({"signature": 3}, "providers.acme: signature must be text, not 3"),
        ({"signature": "cookie:x"}, "providers.acme: signature: 'cookie:x' is no place in a request"),
        ({"signature": "header:X", "encoding": "base32"}, "providers.acme: encoding 'base32' is not known"),
        ({"signature": "header:X", "content": "fixed"}, "providers.acme: content 'fixed' must hold {body}"),
        ({"signature": "header:X", "tolerance": "long"}, "providers.acme: tolerance must be a number of seconds"),
        ({"signature": "header:X", "handshakes": [{"metod": "GET"}]}, "handshakes: there is no field 'metod': did you mean method"),
        ({"signature": "header:X", "key": "item:id"}, "reads item: and has no items"),
        ({"scheme": "token"}, "providers.acme: token is missing"),
        ({"signature": "header:X", "key": "bdy:id"}, "providers.acme: key: 'bdy:id' is not known: use body,"),
        ({"signature": "header:X", "type": "bdy:t"}, "providers.acme: type: 'bdy:t' is no place in a request"),
        ({"signature": "header:X", "entity": "bdy:e"}, "providers.acme: entity: 'bdy:e' is no place in a request"),
        ({"signature": "header:X", "content": "{timestamp}{body}", "timestamp": "entry:t="}, "write separator = ','"),
        ({"scheme": "jwt", "header": "X", "algorithms": ["none"]}, "must be some of HS256"),
        ({"signature": "header:X", "timestamp": "body:t", "content": "{timestamp}{body}"}, "timestamp 'body:t' must be"),
    ],
)  # fmt: skip
def test_a_malformed_profile_names_its_field_and_the_fix(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        described("acme", table)
    assert sentence in str(caught.value)


def test_every_kind_of_scheme_and_field_can_be_written() -> None:
    token = described(
        "acme", {"scheme": "token", "token": "header:Authorization", "is_basic": True, "methods": ["POST", "PUT"]}
    )
    assert token.takes("PUT") and token.coverage == "no"
    jwt = described(
        "acme", {"scheme": "jwt", "header": "X", "algorithms": ["HS256"], "body_claim": "sha", "claims": {"iss": "me"}}
    )
    assert jwt.coverage == "yes"
    both = described(
        "acme",
        {
            "signature": "item:mac",
            "content": "{item:id}",
            "items": "body:list",
            "key": "item:id",
            "tolerance": 5,
            "redelivery": {"timeout": 3},
        },
    )
    assert both.redelivery.timeout == 3 and both.tolerance == 5.0
    proof = {"method": "GET", "json": {"a": {"of": "{query:a}"}}}
    assert described("acme", {"signature": "header:X", "handshakes": [proof]}).takes("GET")


def test_a_described_provider_takes_the_settings_that_it_names() -> None:
    table = {"signature": "header:X", "settings": ["shop"], "content": "{setting:shop}{body}"}
    assert provider("acme", described=table).missing == ["shop"]
    assert provider("acme", described=table, shop="s").given == {"shop": "s"}
    with pytest.raises(ConfigError, match="takes no option 'shp': it takes shop"):
        provider("acme", described=table, shp="s")


@pytest.mark.parametrize(("scheme", "has"), [("jwt", "algorithms"), ("token", "is_basic"), ("signed", "content")])
def test_a_field_that_is_like_none_is_answered_with_those_of_the_scheme(scheme: str, has: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no field 'zzz': scheme {scheme} has ") as caught:
        described("acme", {"scheme": scheme, "zzz": "x"})
    listed = str(caught.value).partition(" has ")[2].split(", ")
    assert has in listed and "redelivery" not in listed and len(listed) < 21
