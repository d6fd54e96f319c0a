"""A provider that a user describes, with each field wrong once: the sentence names the field, and what to write."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.providers.custom import SCHEMES, described
from landfast.providers.handshake import Handshake, Proof
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery
from tests.shops import sqlite_shop

SIGNED = {"signature": "header:X-Sig"}
TOKEN = {"scheme": "token", "token": "header:X-Token"}
JWT = {"scheme": "jwt", "header": "X-Jwt", "algorithms": ["HS256"]}

WRONG_SIGNED: dict[str, tuple[Any, str]] = {
    "signature": (
        "cookie:x",
        "signature: 'cookie:x' is no place in a request: write body:data.id or header:X-Event-Id",
    ),
    "algorithm": ("md5", "algorithm 'md5' is not known: use sha256"),
    "encoding": ("base32", "encoding 'base32' is not known: use hex, base64, base64url"),
    "content": ("{host}{body}", "content '{host}{body}' uses {host}, which is none of {body}"),
    "prefix": (3, "prefix must be text, not 3"),
    "separator": (["x"], "separator must be text, not ['x']"),
    "is_repeated": ("yes", "is_repeated must be true or false, not 'yes'"),
    "timestamp": ("body:t", "timestamp 'body:t' must be header:NAME, or entry:PREFIX"),
    "timestamp_unit": ("h", "timestamp_unit 'h' is not known: use s, ms, iso"),
    "id": ("header:X-Id", "content '{body}' must hold {id}: what is not signed proves nothing"),
    "secret": ("rot13", "secret 'rot13' is not known: use text, base64"),
    "require": ({"X": 1}, "require must be a table of headers, not {'X': 1}"),
    "key_name": ("X-Key", "key_name 'X-Key' must be HEADER=SETTING, such as X-Pusher-Key=app_key"),
    "is_whole": (1, "is_whole must be true or false, not 1"),
    "is_json": ("true", "is_json must be true or false, not 'true'"),
    "shortest": (-1, "shortest must be a number of bytes, not -1"),
    "items": ("header:X", "items 'header:X' is no list in a body: write body, body:events or form:events"),
    "body_digest": (7, "body_digest must be text, not 7"),
    "any_port": (0, "any_port must be true or false, not 0"),
    "signs_once": (1, "signs_once must be true or false, not 1"),
}
WRONG_PROFILE: dict[str, tuple[Any, str]] = {
    "key": ("id", "key: 'id' is not known: use body, type+body"),
    "type": ("cookie:x", "type: 'cookie:x' is no place in a request: write body:data.id"),
    "title": (3, "title must be text, not 3"),
    "entity": ("body:", "entity: 'body:' is no place in a request: write body:data.id"),
    "occurred_at": ("name:x", "occurred_at: 'name:x' is no place in a request: write body:data.id"),
    "items": ([], "items must be text, not []"),
    "signed_at_place": ("body:a..b", "signed_at_place: 'body:a..b' is no place in a request: write body:data.id"),
    "type_letters": ("[a-z", "type_letters: '[a-z' is no pattern"),
    "signed_at_unit": ("s", "signed_at_unit: 's' is not known: use any, ms"),
    "handshakes": ("GET", "handshakes must be tables, such as [[providers.NAME.handshakes]], not 'GET'"),
    "settings": ("shop", "settings must be a list of names, not 'shop'"),
    "tolerance": (-5, "tolerance must be a number of seconds, or inf, not -5"),
    "refusal": (200, "has refusal 200; it must be an HTTP error, 400 to 599"),
    "thanks": (200, "thanks must be"),
    "methods": (["post"], "methods: ['post'] are no methods of HTTP; write methods = ['POST']"),
    "redelivery": ("daily", "redelivery must be a table, not 'daily'"),
    "fetch_back": ("no", "fetch_back must be true or false, not 'no'"),
    "time_of_object": ("no", "time_of_object must be true or false, not 'no'"),
    "body_varies": (1, "body_varies must be true or false, not 1"),
    "environments": ("sandbox", "environments must be a list of names, not 'sandbox'"),
    "proves_account": ("no", "proves_account must be true or false, not 'no'"),
    "setup": (1, "setup must be text, not 1"),
    "traps": ("one", "traps must be a list of sentences, not 'one'"),
    "hmac_key": (1, "hmac_key must be text, not 1"),
    "body_limit": ("1MB", "body_limit must be a number of bytes, not '1MB'"),
}
WRONG_TOKEN: dict[str, tuple[Any, str]] = {
    "token": ("cookie:x", "token: 'cookie:x' is no place in a request: write body:data.id"),
    "prefix": (True, "prefix must be text, not True"),
    "is_basic": ("yes", "is_basic must be true or false, not 'yes'"),
    "items": (7, "items must be text, not 7"),
}
WRONG_JWT: dict[str, tuple[Any, str]] = {
    "header": (" ", "header is empty: name the header that holds the token"),
    "algorithms": (["none"], "algorithms ['none'] must be some of HS256"),
    "prefix": (1, "prefix must be text, not 1"),
    "body_claim": (1, "body_claim must be text, not 1"),
    "body_encoding": ("base32", "body_encoding 'base32' is not known: use hex, base64"),
    "is_absent_when_empty": ("no", "is_absent_when_empty must be true or false"),
    "url_claim": (1, "url_claim must be text, not 1"),
    "time_claim": ([], "time_claim must be text, not []"),
    "claims": ({"iss": 1}, "claims must be a table of claims"),
    "true_claims": ("email_verified", "true_claims must be a list of names"),
    "secret_claim": (1, "secret_claim must be text, not 1"),
    "sandbox_keys": ("http://a.example", "sandbox_keys 'http://a.example' must be the address"),
    "keys": (
        "http://keys.example",
        "keys 'http://keys.example' must be the address of the provider's keys, with https://",
    ),
    "credentials": ("id", "credentials must be a list of names"),
}
WRONG_HANDSHAKE: dict[str, tuple[Any, str]] = {
    "when": ("body:type=ping", "handshakes: when 'body:type=ping' reads the body"),
    "method": ("PUT", "handshakes: method 'PUT' is none that a handshake has: GET, HEAD, OPTIONS or POST"),
    "is_signed": ("no", "handshakes: is_signed must be true or false, not 'no'"),
    "token": ("query:t", "handshakes: token 'query:t' must be PLACE=SETTING, as query:hub.verify_token=verify_token"),
    "text": ("{nothing}", "handshakes: text: content '{nothing}' uses {nothing}, which is none of"),
    "json": ("{}", "handshakes: json must be a table of texts, numbers or proofs, not '{}'"),
    "headers": ({"X": 1}, "handshakes: headers must be a table of texts"),
    "status": (401, "handshakes: status 401 is no success; a handshake is answered with 200, 202 or 204"),
    "visit": ("body:url", "handshakes: visit needs visits"),
    "visits": ("(", "handshakes: visits '(' is no pattern"),
}
WRONG_PROOF: dict[str, tuple[Any, str]] = {
    "of": ("{nothing}", "handshakes: text: content '{nothing}' uses {nothing}"),
    "algorithm": ("md5", "handshakes: text: algorithm 'md5' is not known: use sha1, sha256"),
    "encoding": ("base32", "handshakes: text: encoding 'base32' is not known: use hex, base64"),
    "prefix": (1, "handshakes: text: prefix must be text, not 1"),
    "is_keyed": ("no", "handshakes: text: is_keyed must be true or false, not 'no'"),
    "matches": ("[", "handshakes: text: matches '[' is no pattern"),
}
WRONG_REDELIVERY: dict[str, tuple[Any, str]] = {
    "timeout": ("5s", "redelivery: timeout must be a number of seconds, not '5s'"),
    "window": (-1, "redelivery: window must be a number of seconds, not -1"),
    "delays": (["1h"], "redelivery: delays must be a list of seconds"),
    "success": (200, "redelivery: success must be text, not 200"),
    "ends_on": (410, "redelivery: ends_on must be text, not 410"),
    "is_ordered": ("no", "redelivery: is_ordered must be true or false"),
}

CASES = [
    *(({**SIGNED, name: wrong}, words) for name, (wrong, words) in WRONG_SIGNED.items()),
    *(({**SIGNED, name: wrong}, words) for name, (wrong, words) in WRONG_PROFILE.items()),
    *(({**TOKEN, name: wrong}, words) for name, (wrong, words) in WRONG_TOKEN.items()),
    *(({**JWT, name: wrong}, words) for name, (wrong, words) in WRONG_JWT.items()),
    *(({**SIGNED, "handshakes": [{"method": "GET", "when": "query:a", name: wrong}]}, words) for name, (wrong, words) in WRONG_HANDSHAKE.items()),
    *(({**SIGNED, "handshakes": [{"method": "GET", "text": {"of": "{query:a}", name: wrong}}]}, words) for name, (wrong, words) in WRONG_PROOF.items()),
    *(({**SIGNED, "redelivery": {name: wrong}}, words) for name, (wrong, words) in WRONG_REDELIVERY.items()),
    ({"scheme": ["signed"], **SIGNED}, "scheme ['signed'] is not known: use signed, token, jwt"),
    ({**SIGNED, "content": "{setting:shop}{body}"}, "settings must list shop, which is read; write settings = ['shop']"),
    ({**SIGNED, "handshakes": [{"method": "GET", "text": "x", "token": "query:t=ours"}]}, "settings must list ours"),
]  # fmt: skip


@pytest.mark.req("R2")
@pytest.mark.parametrize(("table", "words"), CASES, ids=[words[:40] for _, words in CASES])
def test_a_field_that_is_wrong_is_named_with_what_to_write(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        described("acme", table)
    assert str(caught.value).startswith("providers.acme: ") and words in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "tried", "unwritten"),
    [
        (SCHEMES["signed"], WRONG_SIGNED, set()),
        (SCHEMES["token"], WRONG_TOKEN, set()),
        (SCHEMES["jwt"], WRONG_JWT, set()),
        (Profile, WRONG_PROFILE, {"name", "scheme", "given", "samples", "siblings"}),
        (Handshake, WRONG_HANDSHAKE, set()),
        (Proof, WRONG_PROOF, set()),
        (Redelivery, WRONG_REDELIVERY, set()),
    ],
)
def test_every_field_that_can_be_written_is_written_wrong_once(kind: Any, tried: Any, unwritten: set[str]) -> None:
    written = {each.name for each in fields(kind) if each.init and not each.name.startswith("_")}
    assert written - unwritten == set(tried)


@pytest.mark.req("R2")
async def test_the_server_does_not_start_and_says_the_same_sentence(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    source = '[sources.shop]\nprovider = "acme"\nsecrets = ["a secret of sixteen bytes"]\n'
    (tmp_path / "landfast.toml").write_text(f'{source}[providers.acme]\nsignature = "header:X"\nencoding = "b"\n')
    (tmp_path / "shop.py").write_text("from landfast import Inbox\ninbox = Inbox()\n")
    code, out, err = await shop.run("serve", "shop.py", "--port", "0")
    assert (code, out) == (2, "")
    assert "providers.acme: encoding 'b' is not known: use hex, base64, base64url" in err and "Traceback" not in err


def test_a_setting_that_need_not_be_given_and_is_signed_refuses_rather_than_fails() -> None:
    profile = provider("acme", described={**SIGNED, "settings": ["shop?"], "content": "{setting:shop}{body}"})
    head = Head("POST", "/in/acme", headers=Headers([(b"x-sig", b"00" * 32)]))
    with pytest.raises(UnverifiedError, match="the source does not say its shop"):
        profile.verify(profile.present(head), head, b"{}", [Secret("any", b"a secret")])
