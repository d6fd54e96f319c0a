"""What is hidden of bodies, headers and texts, and what is not."""

from __future__ import annotations

import json
import time

import pytest

from landfast.domain.redaction import HIDDEN, Redaction

REDACTION = Redaction(["customer.email", "IBAN"])
CARD = "4242424242424242"


def test_usual_fields_and_configured_ones_are_hidden_wherever_they_stand() -> None:
    body = {
        "id": "evt_1",
        "card": {"number": CARD, "last4": "4242"},
        "items": [{"client_secret": "cs_1", "price": 5}],
        "customer": {"email": "a@example.com", "name": "Ada"},
        "email": "b@example.com",
        "iban": "DE00",
        "access_token": None,
        "note": f"paid with {CARD[:4]} {CARD[4:8]} {CARD[8:12]} {CARD[12:]}",
        "order": 5105105105105100,
        "shipment": "4242424242424241",
    }
    assert REDACTION.value(body) == body | {
        "card": {"number": HIDDEN, "last4": "4242"},
        "items": [{"client_secret": HIDDEN, "price": 5}],
        "customer": {"email": HIDDEN, "name": "Ada"},
        "iban": HIDDEN,
        "note": f"paid with {HIDDEN}",
    }


def test_a_body_is_shown_as_it_is_unless_something_of_it_is_hidden() -> None:
    plain = b'{ "id" : 1,  "id": 2 }\n'
    assert REDACTION.body(plain) == plain
    assert REDACTION.body(b"\xff\x00") == b"\xff\x00"
    assert json.loads(REDACTION.body(b'{"a": {"password": "x"}}')) == {"a": {"password": HIDDEN}}
    assert REDACTION.body(b"a=1&card[number]=5&b=2") == b"a=1&card[number]=[redacted]&b=2"
    assert REDACTION.body(b"<xml>token=abc</xml>") == b"<xml>token=[redacted]"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"payload=%7B%22token%22%3A%22hunter2%22%7D", b'payload={"token": "[redacted]"}'),
        (b'{"Message": "{\\"iban\\": \\"hunter2\\"}"}', b'{"Message": "{\\"iban\\": \\"[redacted]\\"}"}'),
        (b'{"Message": "{\\"iban\\": \\"hunter2\\""}', b'{"Message": "{\\"iban\\": [redacted]"}'),
        (b'{"pin": "hunter2", "pin": null}', b'{"pin": "[redacted]", "pin": null}'),
        (b'{"card": {"number": "hunter2"}, "card": {}}', b'{"card": {"number": "[redacted]"}, "card": {}}'),
        (b"pin=hunter2&name=Jos\xe9", b"pin=[redacted]&name=Jos\xe9"),
        (b'{"pin": "hunter2", "name": "Jos\xe9 \\u20ac"}', b'{"pin": "[redacted]", "name": "Jos\xe9 \\u20ac"}'),
    ],
    ids=["in a form", "in JSON", "in what is cut off", "twice", "in one of two", "Latin-1 form", "Latin-1 JSON"],
)
def test_what_is_hidden_is_hidden_in_whatever_it_is_wrapped(body: bytes, shown: bytes) -> None:
    assert REDACTION.body(body) == shown
    assert b"hunter2" not in shown


def test_headers_are_hidden_by_name() -> None:
    pairs = [["Authorization", "Bearer x"], ["X-Shop-Api-Key", "y"], ["content-type", "json"]]
    assert REDACTION.headers(pairs) == [["Authorization", HIDDEN], ["X-Shop-Api-Key", HIDDEN], ["content-type", "json"]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ValueError: password=hunter2, retry=3", f"ValueError: password={HIDDEN}, retry=3"),
        ("{'api_key': 'a b', 'x': 1}", f"{{'api_key': {HIDDEN}, 'x': 1}}"),
        ('{"card": {"number": "1"}}', '{"card": {"number": "1"}}'),
        ("card.number: 12", f"card.number: {HIDDEN}"),
        ("Authorization: Bearer abc.def-ghi", f"Authorization: {HIDDEN}"),
        ("sent Bearer abcdefgh12", f"sent Bearer {HIDDEN}"),
        (f"card {CARD} refused", f"card {HIDDEN} refused"),
        ("KeyError: 'token' at shop.py:12 in pay", "KeyError: 'token' at shop.py:12 in pay"),
        ("20261117024926104", "20261117024926104"),
    ],
)
def test_texts_lose_what_they_quote(text: str, shown: str) -> None:
    assert REDACTION.text(text) == shown


def test_data_loses_what_its_texts_quote() -> None:
    answered = {"status": 200, "body": '{"customer": {"email": "a@example.com"}, "why": ["iban=DE00"]}'}
    assert REDACTION.told({"message": "iban=DE00", "iban": "DE00", "seen": ["token: abc", 5, None]}) == {
        "message": f"iban={HIDDEN}",
        "iban": HIDDEN,
        "seen": [f"token: {HIDDEN}", 5, None],
    }
    assert json.loads(REDACTION.told(answered)["body"]) == {"customer": {"email": HIDDEN}, "why": [f"iban={HIDDEN}"]}
    assert REDACTION.told('{ "id": 1 }') == '{ "id": 1 }', "as it is where nothing is hidden"
    assert REDACTION.told('{"iban": "DE00", "cut of') == f'{{"iban": {HIDDEN}, "cut of'


def test_only_configured_names_hide_facts_of_the_log() -> None:
    assert not REDACTION.hides("secret"), "the log's fact of this name is the name of a secret"
    assert Redaction(["key"]).hides("key") and not Redaction(["customer.key"]).hides("key")


def test_a_hostile_text_takes_no_longer_than_its_length() -> None:
    began = time.process_time()  # others use the machine too
    for text in (
        "[" * 16_000,
        "[" * 900 + "]" * 900,
        "a" * 16_000,
        "a=b " * 4_000,
        "4 " * 8_000,
        '"' * 16_000,
        "token='" + "\\" * 16_000,
        "a." * 8_000,
    ):
        REDACTION.text(text)
        REDACTION.body(text.encode())
    assert time.process_time() - began < 2
