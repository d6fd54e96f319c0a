"""The parsers under fuzz: what providers read from requests, and what the worker reads from bodies."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from landfast.domain import body as bodies
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import MalformedBodyError, UnverifiedError
from landfast.domain.json_limits import DEPTH_AT_MOST, MOST_DIGITS
from landfast.domain.text import TEXT_LIMIT
from landfast.intake.identify import identify
from landfast.ports.provider import Proven, Secret, Signature
from landfast.providers import provider
from landfast.providers.request import Request
from landfast.providers.signing import sign
from landfast.testing.clock import ManualClock
from tests.fuzz import grammar

FORM = "application/x-www-form-urlencoded"
PROVIDERS = {name: provider(name) for name in grammar.SOURCES} | {
    "hmac": provider("stripe", dedup="hmac:id", ordered_by="data.object.0"),
    "fields": provider("github", dedup="fields:type,repository.id,header:X-Nonce"),
    "generic": provider("generic", timestamp_header="X-Time", timestamp_unit="ms", encoding="base64", occurred_at="at"),
}


class Providers:
    """Headers and bodies of any kind: a genuine one is verified, any other raises UnverifiedError and nothing else."""

    def __init__(self) -> None:
        self.now = ManualClock().now()
        self.verified = self.refused = 0

    async def run(self, draw: Random) -> None:
        await asyncio.sleep(0)
        name = draw.choice(list(PROVIDERS))
        profile = PROVIDERS[name]
        key = b"a key of the sender"
        request = grammar.genuine(draw, now=self.now.timestamp())
        signed = request.body
        now, id_ = self.now.timestamp(), f"msg_{draw.randrange(9)}"
        headers = sign(profile, signed, Secret("new", key), now=now, id=id_)
        request.headers = [(a.encode(), b.encode()) for a, b in headers.items()] + request.headers[1:3]
        for _ in range(draw.randrange(3)):
            draw.choice(grammar.MUTATIONS)(draw, request)
        head = Head("POST", "/in/any", "", Headers(request.headers))
        try:
            profile.verify(profile.present(head), head, request.body, [Secret("old", b"old"), Secret("new", key)])
        except UnverifiedError:
            self.refused += 1
        else:
            self.verified += 1
            assert request.body == signed, "verified what was never signed"
        self._name(profile, name, head, odd_body(draw, request.body))

    def _name(self, profile: Any, name: str, head: Head, body: bytes) -> None:
        proven = Proven(Secret("any", b"any"), Signature(), Request(head, body))
        for identity in [identify(found, now=self.now) for found in profile.find(proven, self.now)]:
            for text in (identity.key, identity.type, identity.entity or ""):
                assert len(text) <= TEXT_LIMIT and "\0" not in text
                text.encode()
            assert identity.key
        greeting = profile.handshake(proven)
        assert greeting is None or isinstance(greeting.answer, Answer)


class Bodies:
    """Bodies of any kind: what is accepted is what json.loads makes of it, and nothing sound is refused."""

    def __init__(self) -> None:
        self.accepted = self.refused = 0

    async def run(self, draw: Random) -> None:
        await asyncio.sleep(0)
        body = odd_body(draw, odd_json(draw))
        content_type = draw.choice((None, "application/json", FORM, FORM + "; charset=utf-8", "text/plain\xff"))
        glance = bodies.light(body)
        try:
            data = bodies.decode(body, content_type)
        except MalformedBodyError:
            self.refused += 1
            is_form = content_type is not None and content_type.startswith(FORM)
            assert is_form or _reason(body), f"refused for no reason: {body!r}"
            return
        self.accepted += 1
        msgspec.json.encode(data)
        json.dumps(data, allow_nan=False, ensure_ascii=False).encode()
        if not bodies._is_form(body, content_type):
            assert _same(data, json.loads(body)), "not what json.loads makes of it"
            assert glance is None or _same(glance, data), "intake and worker read it differently"


def _reason(body: bytes) -> str:
    """Why this is no body for a handler, worked out without our own code; empty if there is none."""
    try:
        text = body.decode()
        repeated: list[str] = []
        data = json.loads(
            text,
            object_pairs_hook=lambda pairs: _note_repeats(pairs, repeated),
            parse_int=lambda digits: _number(digits, int),
            parse_float=lambda digits: _number(digits, float),
        )
    except (ValueError, RecursionError) as error:
        return f"json.loads refuses it, too: {error}"
    if body.startswith(b"\xef\xbb\xbf") or repeated:
        return "a byte order mark, or a key that stands twice"
    return _unfit(data, 1)


def _number(digits: str, kind: Callable[[str], Any]) -> Any:
    if any(len(run) > MOST_DIGITS for run in re.findall("[0-9]+", digits)):
        raise ValueError("a number of more digits than every interpreter reads")
    return kind(digits)


def _note_repeats(pairs: list[tuple[str, Any]], repeated: list[str]) -> dict[str, Any]:
    repeated += [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    return dict(pairs)


def _unfit(data: Any, depth: int) -> str:
    if isinstance(data, float) and not math.isfinite(data):
        return "no number"
    if isinstance(data, str) and ("\0" in data or any("\ud800" <= letter <= "\udfff" for letter in data)):
        return "no text"
    if isinstance(data, dict | list):
        if depth > DEPTH_AT_MOST:
            return "too deep"
        below = [*data, *data.values()] if isinstance(data, dict) else data
        return next(filter(None, (_unfit(each, depth + 1) for each in below)), "")
    return ""


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def odd_json(draw: Random, depth: int = 0) -> bytes:
    """JSON, most of it sound."""
    odd = (
        *(
            b"NaN",
            b"-Infinity",
            b"1e999",
            b"-0",
            b"1E5",
            b"01",
            b"9" * 4400,
            b"12345678901234567890",
            b"0.1e-400",
            b"truE",
        ),
        *(
            b'"\\ud800"',
            b'"\\ud83d\\ude00"',
            b'"\\u0000"',
            b'"\xed\xa0\x80"',
            b'"a\nb"',
            b"'a'",
            b'"\xc3\xa9"',
            b"",
            b"\xef\xbb\xbf1",
        ),
        *(
            b"[" * 70 + b"]" * 70,
            b'{"a":' * 70 + b"1" + b"}" * 70,
            b"[" * 100_000,
            b'"\\x"',
            b"\xff",
            b"[1,]",
            b'{"a":1,"a":2}',
        ),
    )
    kind = draw.randrange(10)
    if kind < 2 and depth < 6:
        return b"[" + b",".join(odd_json(draw, depth + 1) for _ in range(draw.randrange(4))) + b"]"
    if kind < 7 and depth < 6:
        names = [
            b'"%s"' % draw.choice((b"id", b"type", b"data", b"object", b"\\u0061", b"a", b"\xc3\xa9"))
            for _ in range(draw.randrange(5))
        ]
        return b"{" + b",".join(name + b":" + odd_json(draw, depth + 1) for name in names) + b"}"
    if kind == 9 and draw.random() < 0.3:
        return draw.choice(odd)
    return draw.choice(
        (b"1", b"-2.5", b"true", b"null", b'"text"', b'"\\u00e9\\n"', b'""', b"1767225600", b'"2026-01-01T00:00:00Z"')
    )


def odd_body(draw: Random, body: bytes) -> bytes:
    match draw.randrange(8):
        case 0:
            return grammar.scribble(draw, body)
        case 1:
            return b"payload=" + body.replace(b"%", b"%25").replace(b"&", b"%26").replace(b"+", b"%2B")
        case 2:
            return draw.choice(
                (b"a=1&a=2&b=%00", b"&" * 2000, b"a=%ff", b"challenge=x&type=url_verification", b"=", b"payload=%")
            )
        case 3:
            return b'{"type":"url_verification","challenge":' + body + b"}"
    return body
