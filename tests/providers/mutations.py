"""What a forger does to one captured request: each by name, and drawn from chance. None where it makes no sense."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from tests.providers.oracle import NOW, Sent, places, signature_in
from tests.providers.victims import (
    Victim,
    resigned,
    spelt,
    with_header,
    with_signature,
)

Mutation = Callable[[Random, Victim], Sent | None]

Made = TypeVar("Made", bound=Mutation)

MUTATIONS: dict[str, Mutation] = {}

ODD_TIMES = (
    b"", b" ", b"0", b"-1", b"-1767323045", b"+1767323045", b"NaN", b"nan", b"Infinity", b"-inf", b"1e9", b"1.767e9",
    b"0x6957379D", b"1_767_323_045", b"99999999999999", b"999999999999999999999999", b"1" * 400, b"1767323045.0",
    b"1767323045 ", b"1767323045\x00", b"1767340000", b"1767000000", b"2000000000", b"null", b"[]",
    "\u0661\u0667\u0666\u0667\u0663\u0662\u0663\u0660\u0664\u0665".encode(), "\uff11\uff17".encode(), b"1767323045000000",
    b"2026-01-02", b"2026-W01-5", b"9999-12-31T23:59:59Z", b"0001-01-01T00:00:00Z", b"1970-01-01T00:00:00Z",
    b"2026-01-02T03:04:05+99:99", b"2026-01-03T03:04:05Z",
)  # fmt: skip
"""No clock of ours shows any of these at NOW."""

ODD_BODIES = (
    b"", b" ", b"\x00", b"null", b"{}", b"[]", b"[[]]", b"[null]", b"{", b'"', b"\xff\xfe", b"[" * 50_000, b"NaN",
    b'{"a":' * 50_000, b"9" * 20_000, b'{"id":' + b"9" * 5_000 + b"}", b"&" * 20_000, b"a=1&" * 2_000, b"--\r\n",
    b'{"id":"\\ud800"}', b"%" * 5_000, b'{"notificationItems":[{}]}', b'{"value":[]}', b'{"events":[null]}',
)  # fmt: skip


SELDOM = 0.1
"""How often to change what is not signed: enough to see that it does no harm."""


def mutation(make: Made) -> Made:
    MUTATIONS[make.__name__.replace("_", " ")] = make
    return make


def mutation_of(part: str) -> Callable[[Made], Made]:
    def register(make: Made) -> Made:
        def made(rng: Random, victim: Victim) -> Sent | None:
            return make(rng, victim) if part in victim.covered or rng.random() < SELDOM else None

        MUTATIONS[make.__name__.replace("_", " ")] = made
        return make

    return register


@mutation_of("body")
def a_bit_of_the_body(rng: Random, victim: Victim) -> Sent:
    return _with_body(victim, _flipped(rng, victim.genuine.body))


@mutation_of("body")
def a_byte_of_the_body_more_or_less(rng: Random, victim: Victim) -> Sent:
    body = victim.genuine.body
    at = rng.randrange(len(body) + 1)
    more = bytes([rng.randrange(256)]) if rng.random() < 0.5 else b""
    return _with_body(victim, body[:at] + more + body[at + (not more) :])


@mutation_of("body")
def a_cut_or_longer_body(rng: Random, victim: Victim) -> Sent:
    body = victim.genuine.body
    ends = (b"\n", b"\r\n", b" ", b"\x00", b"}", b"&a=b", rng.randbytes(rng.randrange(1, 40)), body)
    changed = [body[: rng.randrange(len(body))], body + rng.choice(ends), b"\xef\xbb\xbf" + body, b" " + body]
    return _with_body(victim, rng.choice([*changed, body.replace(b",", b",\r\n", 1), body.replace(b":", b": ", 1)]))


@mutation_of("body")
def another_body(rng: Random, victim: Victim) -> Sent:
    return _with_body(victim, rng.choice([*ODD_BODIES, rng.randbytes(rng.randrange(200))]))


@mutation_of("body")
def the_same_data_written_otherwise(rng: Random, victim: Victim) -> Sent | None:
    data = data_in(victim.genuine.body)
    if not isinstance(data, dict | list) or not data:
        return None
    text = rng.choice(
        [
            json.dumps(data),
            json.dumps(data, indent=2),
            json.dumps(data, sort_keys=True, separators=(",", ":")),
            json.dumps(_reversed(data), separators=(",", ":")),
            json.dumps(data, separators=(",", ":")).replace("a", "\\u0061"),
        ]
    )
    return _with_body(victim, text.encode())


@mutation_of("body")
def a_key_that_stands_twice(rng: Random, victim: Victim) -> Sent | None:
    body = victim.genuine.body
    data = data_in(body)
    if not isinstance(data, dict) or not data:
        return None
    field = json.dumps({rng.choice(list(data)): rng.choice(["forged", 1, None, {"a": 1}])})[1:-1].encode()
    return _with_body(victim, rng.choice([b"{" + field + b"," + body[1:], body[:-1] + b"," + field + b"}"]))


@mutation_of("body")
def a_field_with_another_value(rng: Random, victim: Victim) -> Sent | None:
    data = data_in(victim.genuine.body)
    spots = list(spots_in(data))
    if not spots:
        return None
    holder, key = rng.choice(spots)
    holder[key] = rng.choice(["forged", 7, None, True, [], {}, f"{holder[key]} ", f"{holder[key]}\n", 10**40])
    return _with_body(victim, json.dumps(data, separators=(",", ":")).encode())


@mutation
def a_bit_of_a_header(rng: Random, victim: Victim) -> Sent | None:
    headers = list(victim.genuine.headers)
    at = _some_header(rng, victim)
    if at is None:
        return None
    name, value = headers[at]
    headers[at] = (name, _flipped(rng, value))
    return victim.genuine._replace(headers=tuple(headers))


@mutation
def a_header_gone_or_empty_or_twice(rng: Random, victim: Victim) -> Sent | None:
    headers = list(victim.genuine.headers)
    at = _some_header(rng, victim)
    if at is None:
        return None
    name, value = headers[at]
    other = _flipped(rng, value)
    chosen: list[list[tuple[bytes, bytes]]] = [
        [], [(name, b"")], [(name, b" \t")], [(name, value), (name, value)], [(name, other), (name, value)],
        [(name, value), (name, other)], [(name, b""), (name, value)], [(name + b"x", value)], [(name.upper(), value)],
    ]  # fmt: skip
    headers[at : at + 1] = rng.choice(chosen)
    return victim.genuine._replace(headers=tuple(headers))


@mutation
def a_header_of_odd_bytes(rng: Random, victim: Victim) -> Sent | None:
    headers = list(victim.genuine.headers)
    at = _some_header(rng, victim)
    if at is None:
        return None
    name, value = headers[at]
    odd = [
        b"\x00", value + b"\x00", b"\x00" + value, "é".encode(), value + "é".encode(), value + b"\xff", b"\xa0" + value,
        value.replace(b"a", "\u0430".encode()), value + b"\r\nX: y", b"\xef\xbb\xbf" + value, value + b"\x1f", b"[" * 9_000,
        "\uff11\uff12".encode(), rng.randbytes(64), b"A" * 100_000, value * 50, b"=" * 4_000, b"." * 4_000, b"e30.e30.",
    ]  # fmt: skip
    headers[at] = (name, rng.choice(odd))
    return victim.genuine._replace(headers=tuple(headers))


@mutation
def a_bit_of_the_signature_itself(rng: Random, victim: Victim) -> Sent | None:
    decoded = _signature(victim)
    if decoded is None or victim.signed is None:
        return None
    return with_signature(victim, victim.genuine, spelt(_flipped(rng, decoded), victim.signed.encoding))


@mutation
def a_shorter_or_longer_signature(rng: Random, victim: Victim) -> Sent | None:
    decoded, scheme = _signature(victim), victim.signed
    if decoded is None or scheme is None:
        return None
    size = len(decoded)
    changed = [
        decoded[: rng.randrange(size)], decoded[: size // 2], decoded + b"\x00", decoded + decoded, b"\x00" + decoded,
        decoded[::-1], b"", bytes(size), b"\xff" * size, decoded[:8] + rng.randbytes(size - 8), decoded[1:],
        decoded[: size - 4] + rng.randbytes(4), rng.randbytes(size),
    ]  # fmt: skip
    digest = rng.choice(changed)
    return None if digest == decoded else with_signature(victim, victim.genuine, spelt(digest, scheme.encoding))


@mutation
def a_signature_in_another_spelling(rng: Random, victim: Victim) -> Sent | None:
    decoded, scheme = _signature(victim), victim.signed
    if decoded is None or scheme is None:
        return None
    text = spelt(decoded, scheme.encoding)
    at = rng.randrange(len(text))
    own = {each.encoding for each in victim.schemes}
    others = [spelt(decoded, each) for each in ("hex", "base64", "base64url") if each not in own]
    odd = [
        *others, decoded, text + b"=", text + b"==", text.rstrip(b"=") + b"A", b"0" + text, b"00" + text, b"0x" + text,
        text.swapcase(), text.upper(), text[:at] + b" " + text[at:], text[:at] + b"\n" + text[at:], b'"' + text + b'"',
        text[:at] + b"%" + b"%02x" % text[at] + text[at + 1 :], text + b";", text + b"\x00", base64.b32encode(decoded),
        text.translate(bytes.maketrans(b"+/", b"-_")), base64.b64encode(text), text[:at] + b"-" + text[at:],
        _loose(text), _loose(text), text[:-1] + bytes([text[-1] ^ 1]), b"v2=" + text, scheme.prefix.encode() + text, text[:at], b"*",
    ]  # fmt: skip
    chosen = rng.choice(odd)
    return None if chosen == text else with_signature(victim, victim.genuine, chosen)


@mutation
def the_signature_without_its_place(rng: Random, victim: Victim) -> Sent | None:
    if victim.header is None:
        return None
    value = victim.genuine.only(victim.header) or b""
    start = value.partition(b"=")[0]
    odd = [
        start + b"=", start, b"=", b",", b".", b" ", b"null", b"undefined", value[::-1], value.partition(b"=")[2], b"[]",
        value.replace(b"v1", b"v0").replace(b"sha256", b"sha1").replace(b"h1", b"h0"), value.title(), b"{}", b"Bearer ",
        b"Basic Og==", b"Basic ", value.replace(b"=", b":"), value.replace(b".", b""), value[: rng.randrange(len(value))],
    ]  # fmt: skip
    return with_header(victim.genuine, victim.header, rng.choice(odd))


@mutation
def many_signatures_and_none_of_them_right(rng: Random, victim: Victim) -> Sent | None:
    scheme = victim.signed
    decoded = _signature(victim)
    if scheme is None or decoded is None:
        return None
    many = rng.choice([2, 3, 16, 17, 10_000])
    joint = (scheme.separator or rng.choice([",", ";", " "])).encode()
    wrong = scheme.prefix.encode() + spelt(_flipped(rng, decoded), scheme.encoding)
    text = joint.join([wrong] * many)
    sent = with_signature(victim, victim.genuine, text[len(scheme.prefix) :])
    return sent if rng.random() < 0.7 else with_header(sent, places(scheme)[0][1], *([wrong] * min(many, 90)))


@mutation
def the_right_signature_among_many(rng: Random, victim: Victim) -> Sent | None:
    """Where a sender has only one, it must stand alone; where it may have several, in a list of a few."""
    scheme = victim.signed
    decoded = _signature(victim)
    if scheme is None or decoded is None:
        return None
    right, wrong = (spelt(each, scheme.encoding) for each in (decoded, _flipped(rng, decoded)))
    joint = (scheme.separator or ",").encode() + scheme.prefix.replace("*", "key").encode()
    many = rng.choice([1, 2, 20, 10_000])
    return with_signature(victim, victim.genuine, joint.join(rng.sample([right, *[wrong] * many], many + 1)))


@mutation
def an_odd_time(rng: Random, victim: Victim) -> Sent | None:
    return _timed(victim, rng.choice(ODD_TIMES), is_signed=False)


@mutation
def an_odd_time_that_is_signed(rng: Random, victim: Victim) -> Sent | None:
    """By somebody with the secret, long ago or with a broken clock: only the look at the time can refuse it."""
    return _timed(victim, rng.choice(ODD_TIMES), is_signed=True)


@mutation_of("time")
def another_hour(rng: Random, victim: Victim) -> Sent:
    """The very same bytes, replayed when they count no more."""
    limit = victim.profile.tolerance if victim.profile.tolerance < 10**9 else 300.0
    away = rng.choice([limit + 1, limit + 61, limit + 3_600, 10**6, 10**8, NOW - 1])
    return victim.genuine._replace(now=NOW + rng.choice([away, -away]))


@mutation_of("query")
def another_query(rng: Random, victim: Victim) -> Sent:
    query = victim.genuine.query
    name = query.partition("=")[0]
    flipped = _flipped(rng, query.encode()).decode("latin-1")
    odd = [
        "", "a=b", f"{query}&a=b", f"a=b&{query}", f"{query}&{query}", f"{query}#", f"{query}#a", f"{query}%00", flipped,
        query.replace("=", "%3D"), f"%{ord(name[0]):02x}{query[1:]}", query.upper(), f"{query};", "&" * 3_000, f"{query}?",
        "x=" + "A" * 100_000, f"{name}=", name, "=" * 500, f"{query}\xff", f"{query}é", "%" * 999, query[:-1], f"[{query}",
    ]  # fmt: skip
    return victim.genuine._replace(query=rng.choice(odd))


@mutation_of("body")
def another_method_or_kind_of_body(rng: Random, victim: Victim) -> Sent:
    sent = victim.genuine
    kinds = [
        b"application/x-www-form-urlencoded",
        b"application/json",
        b"text/plain",
        b"multipart/form-data; boundary=x",
        b"",
    ]
    if rng.random() < 0.5:
        sent = with_header(sent, "content-type", rng.choice(kinds))
    return sent._replace(method=rng.choice(["PUT", "PATCH", "DELETE", "post", "POSTX"]), body=_flipped(rng, sent.body))


@mutation
def two_changes_at_once(rng: Random, victim: Victim) -> Sent | None:
    one = rng.choice([a_bit_of_the_body, another_query, an_odd_time])(rng, victim)
    other = rng.choice([a_bit_of_a_header, a_header_gone_or_empty_or_twice])(rng, victim)
    return one._replace(headers=other.headers) if one is not None and other is not None else None


def _some_header(rng: Random, victim: Victim) -> int | None:
    """The number of one that is covered, and now and then of any."""
    covered = victim.covered_headers
    if rng.random() < SELDOM:
        return rng.randrange(len(victim.genuine.headers))
    return rng.choice(covered) if covered else None


def _with_body(victim: Victim, body: bytes) -> Sent:
    return victim.genuine._replace(body=body)


def _flipped(rng: Random, text: bytes) -> bytes:
    if not text:
        return b"\x01"
    changed = bytearray(text)
    changed[rng.randrange(10**6) % len(text)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _signature(victim: Victim) -> bytes | None:
    """The genuine signature, decoded; None where it stands in no header."""
    scheme = victim.signed
    if scheme is None or places(scheme)[0][0] != "header":
        return None
    text = signature_in(scheme, victim.genuine)
    if scheme.encoding == "hex":
        return binascii.unhexlify(text)
    return base64.b64decode(text.translate(bytes.maketrans(b"-_", b"+/")) + b"==")


def _loose(text: bytes) -> bytes:
    """In base64 the last letter has bits to spare: with those set, a careless decoder reads the same digest."""
    bare = text.rstrip(b"=")
    return bare[:-1] + bytes([bare[-1] + 1]) + text[len(bare) :]


def _timed(victim: Victim, text: bytes, *, is_signed: bool) -> Sent | None:
    scheme = victim.signed
    if scheme is None or scheme.timestamp is None:
        return None
    if is_signed and victim.profile.tolerance == math.inf:
        return None
    if is_signed:
        return resigned(victim, victim.genuine, timestamp=text)
    return with_signature(victim, victim.genuine, signature_in(scheme, victim.genuine), timestamp=text)


def data_in(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _reversed(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _reversed(data[name]) for name in reversed(data)}
    return [_reversed(each) for each in data] if isinstance(data, list) else data


def spots_in(data: Any) -> Any:
    """Every place in the data that holds a value: what it stands in, and under which name."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield data, key
        yield from spots_in(value)
