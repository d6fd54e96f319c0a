"""What a forger does to one captured request: each by name, and drawn from chance. None where it makes no sense."""

from __future__ import annotations

import base64
import binascii
import json
import math
import struct
from collections.abc import Callable
from random import Random
from typing import Any

from landfast.ports.provider import PublicKey
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.signed import SignedScheme
from tests.providers.oracle import NOW, Sent, names_in, places, signature_in
from tests.providers.victims import (
    PUBLIC_URL,
    Victim,
    content_of,
    mac,
    public_forms,
    resigned,
    spelt,
    with_header,
    with_signature,
)

Mutation = Callable[[Random, Victim], Sent | None]

MUTATIONS: dict[str, Mutation] = {}

ODD_TIMES = (
    b"", b" ", b"0", b"-1", b"-1767323045", b"+1767323045", b"NaN", b"nan", b"Infinity", b"-inf", b"1e9", b"1.767e9",
    b"0x6957379D", b"1_767_323_045", b"99999999999999", b"999999999999999999999999", b"1" * 400, b"1767323045.0",
    b"1767323045 ", b"1767323045\x00", b"1767330000", b"1767000000", b"2000000000", b"null", b"[]",
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


def mutation(make: Mutation) -> Mutation:
    MUTATIONS[make.__name__.replace("_", " ")] = make
    return make


@mutation
def a_bit_of_the_body(rng: Random, victim: Victim) -> Sent:
    return _with_body(victim, _flipped(rng, victim.genuine.body))


@mutation
def a_byte_of_the_body_more_or_less(rng: Random, victim: Victim) -> Sent:
    body = victim.genuine.body
    at = rng.randrange(len(body) + 1)
    more = bytes([rng.randrange(256)]) if rng.random() < 0.5 else b""
    return _with_body(victim, body[:at] + more + body[at + (not more) :])


@mutation
def a_cut_or_longer_body(rng: Random, victim: Victim) -> Sent:
    body = victim.genuine.body
    ends = (b"\n", b"\r\n", b" ", b"\x00", b"}", b"&a=b", rng.randbytes(rng.randrange(1, 40)), body)
    changed = [body[: rng.randrange(len(body))], body + rng.choice(ends), b"\xef\xbb\xbf" + body, b" " + body]
    return _with_body(victim, rng.choice([*changed, body.replace(b",", b",\r\n", 1), body.replace(b":", b": ", 1)]))


@mutation
def another_body(rng: Random, victim: Victim) -> Sent:
    return _with_body(victim, rng.choice([*ODD_BODIES, rng.randbytes(rng.randrange(200))]))


@mutation
def the_same_data_written_otherwise(rng: Random, victim: Victim) -> Sent | None:
    data = _data(victim.genuine.body)
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


@mutation
def a_key_that_stands_twice(rng: Random, victim: Victim) -> Sent | None:
    body = victim.genuine.body
    data = _data(body)
    if not isinstance(data, dict) or not data:
        return None
    field = json.dumps({rng.choice(list(data)): rng.choice(["forged", 1, None, {"a": 1}])})[1:-1].encode()
    return _with_body(victim, rng.choice([b"{" + field + b"," + body[1:], body[:-1] + b"," + field + b"}"]))


@mutation
def a_field_with_another_value(rng: Random, victim: Victim) -> Sent | None:
    data = _data(victim.genuine.body)
    spots = list(_spots(data))
    if not spots:
        return None
    holder, key = rng.choice(spots)
    holder[key] = rng.choice(["forged", 7, None, True, [], {}, f"{holder[key]} ", f"{holder[key]}\n", 10**40])
    return _with_body(victim, json.dumps(data, separators=(",", ":")).encode())


@mutation
def a_bit_of_a_header(rng: Random, victim: Victim) -> Sent:
    headers = list(victim.genuine.headers)
    at = rng.randrange(len(headers))
    name, value = headers[at]
    headers[at] = (name, _flipped(rng, value))
    return victim.genuine._replace(headers=tuple(headers))


@mutation
def a_header_gone_or_empty_or_twice(rng: Random, victim: Victim) -> Sent:
    headers = list(victim.genuine.headers)
    at = rng.randrange(len(headers))
    name, value = headers[at]
    other = _flipped(rng, value)
    chosen: list[list[tuple[bytes, bytes]]] = [
        [], [(name, b"")], [(name, b" \t")], [(name, value), (name, value)], [(name, other), (name, value)],
        [(name, value), (name, other)], [(name, b""), (name, value)], [(name + b"x", value)], [(name.upper(), value)],
    ]  # fmt: skip
    headers[at : at + 1] = rng.choice(chosen)
    return victim.genuine._replace(headers=tuple(headers))


@mutation
def a_header_of_odd_bytes(rng: Random, victim: Victim) -> Sent:
    headers = list(victim.genuine.headers)
    at = rng.randrange(len(headers))
    name, value = headers[at]
    odd = [
        b"\x00", value + b"\x00", b"\x00" + value, "é".encode(), value + "é".encode(), value + b"\xff", b"\xa0" + value,
        value.replace(b"a", "а".encode()), value + b"\r\nX: y", b"\xef\xbb\xbf" + value, value + b"\x1f", b"[" * 9_000,
        "１２３".encode(), rng.randbytes(64), b"A" * 100_000, value * 50, b"=" * 4_000, b"." * 4_000, b"e30.e30.",
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
        text[:-1] + bytes([text[-1] ^ 1]), b"v2=" + text, scheme.prefix.encode() + text, text[:at], b"*",
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


@mutation
def another_hour(rng: Random, victim: Victim) -> Sent:
    """The very same bytes, replayed when they count no more."""
    limit = victim.profile.tolerance if victim.profile.tolerance < 10**9 else 300.0
    away = rng.choice([limit + 1, limit + 61, limit + 3_600, 10**6, 10**8, NOW - 1])
    return victim.genuine._replace(now=NOW + rng.choice([away, -away]))


@mutation
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


@mutation
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
def a_digest_by_another_algorithm(rng: Random, victim: Victim) -> Sent | None:
    """With the right key: whoever takes it takes a weaker or a shorter proof than the sender gives."""
    scheme = victim.signed
    if scheme is None or isinstance(victim.key, PublicKey) or places(scheme)[0][0] != "header":
        return None
    name, encoding = (
        rng.choice(["sha1", "sha256", "sha384", "sha512", "md5", "plain-sha256"]),
        rng.choice(["hex", "base64"]),
    )
    if (name, encoding) in {(each.algorithm, each.encoding) for each in victim.schemes}:
        return None
    digest = mac(victim.key, content_of(scheme, victim.genuine, victim.key), name)
    cut = rng.choice([len(digest), 20, 16, 8, 4, 1])
    sent = with_signature(victim, victim.genuine, spelt(digest[:cut], encoding))
    word = rng.choice([scheme.prefix, f"{name}=", "v0=", "v1a,", ""]).encode()
    value = sent.only(places(scheme)[0][1]) or b""
    return with_header(
        sent, places(scheme)[0][1], value.replace(scheme.prefix.encode(), word, 1) if scheme.prefix else value
    )


@mutation
def a_signature_with_a_key_that_anybody_has(rng: Random, victim: Victim) -> Sent | None:
    scheme = victim.signed
    if scheme is None or places(scheme)[0][0] != "header":
        return None
    key = rng.choice(
        [b"", b" ", b"\n", b"\x00", b"null", b"None", bytes(32), victim.name.encode(), *public_forms(victim.name)]
    )
    hash_ = rng.choice(["sha256", "sha1", "sha512"]) if isinstance(victim.key, PublicKey) else scheme.algorithm
    digest = mac(key, content_of(scheme, victim.genuine, key), hash_)
    return with_signature(victim, victim.genuine, spelt(digest, scheme.encoding))


@mutation
def a_token_that_chooses_its_algorithm(rng: Random, victim: Victim) -> Sent | None:
    if not isinstance(victim.schemes[0], JwtScheme) or victim.header is None:
        return None
    value = (victim.genuine.only(victim.header) or b"").decode()
    prefix, _, token = value.rpartition(" ")
    _, claims, signature = token.split(".")
    name = rng.choice(["none", "None", "NONE", "", "HS256", "HS384", "HS512", "RS256", "ES256", "EdDSA"])
    key = rng.choice([b"", b" ", b"secret", victim.name.encode(), *public_forms(victim.name)])
    more = rng.choice(
        [
            {},
            {"crit": ["b64"], "b64": False},
            {"kid": "../../dev/null"},
            {"jwk": {"kty": "oct", "k": ""}},
            {"jku": "https://evil.example"},
        ]
    )
    forged = f"{_segment({'alg': name, 'typ': 'JWT', **more})}.{rng.choice([claims, _segment({'iss': 'netlify'})])}"
    made = spelt(mac(key, forged.encode(), rng.choice(["sha256", "sha384", "sha512"])), "base64url").decode()
    text = f"{forged}.{rng.choice([made, '', signature, 'AA'])}"
    return with_header(victim.genuine, victim.header, f"{prefix} {text}".strip().encode())


@mutation
def a_byte_that_moves_to_the_next_part(rng: Random, victim: Victim) -> Sent | None:
    """What is joined without anything between can be cut elsewhere, and the signature is right for that as well."""
    scheme, sent = victim.signed, victim.genuine
    if scheme is None:
        return None
    names, count = names_in(scheme.content), rng.choice([1, 2, 3, 6, 9])
    joined = [
        (one, other) for one, other in zip(names, names[1:], strict=False) if f"{{{one}}}{{{other}}}" in scheme.content
    ]
    if not joined:
        return None
    one, other = rng.choice(joined)
    left, right = (_moved(scheme, sent, name) for name in (one, other))
    if left is None or right is None:
        return None
    whole, cut = left + right, len(left) + rng.choice([count, -count])
    if not 0 <= cut <= len(whole):
        return None
    for name, text in ((one, whole[:cut]), (other, whole[cut:])):
        moved = _put(scheme, sent, name, text)
        if moved is None:
            return None
        sent = moved
    return sent


@mutation
def a_signature_of_another_version(rng: Random, victim: Victim) -> Sent | None:
    """All that was signed by the one scheme as the body of another that the same key serves."""
    scheme = victim.signed
    others = [each for each in victim.schemes[1:] if isinstance(each, SignedScheme) and each.content.endswith("{body}")]
    if scheme is None or not others or isinstance(victim.key, PublicKey):
        return None
    other = rng.choice(others)
    # A captured request of a version that the sender used, which is any of them.
    used = rng.choice(
        [each for each in victim.schemes if each is not other and each.algorithm == other.algorithm] or [None]
    )
    if used is None:
        return None
    content = content_of(used, victim.genuine, b"" if "{secret}" in used.content else victim.key)
    signature = mac(victim.key, content_of(used, victim.genuine, victim.key), used.algorithm)
    sent = with_header(victim.genuine, places(scheme)[0][1])
    for name, value in other.require.items():
        sent = with_header(sent, name, value.encode())
    value = other.prefix.encode() + spelt(signature, other.encoding)
    return with_header(sent, places(other)[0][1], value)._replace(body=content)


@mutation
def a_plain_hash_that_is_made_longer(rng: Random, victim: Victim) -> Sent | None:
    """SHA-256 of secret and body goes on where it ended: who has one need not know the secret to add to it."""
    found = [each for each in victim.schemes if isinstance(each, SignedScheme) and each.content.startswith("{secret}")]
    if not found:
        return None
    scheme = rng.choice(found)
    content = content_of(scheme, victim.genuine, victim.key)
    glue = b"\x80" + bytes(-(len(content) + 9) % 64) + struct.pack(">Q", 8 * len(content))
    more = rng.choice([b'{"forged":true}', b"\n[]", b","])
    sent = victim.genuine._replace(body=victim.genuine.body + glue + more)
    for name, value in scheme.require.items():
        sent = with_header(sent, name, value.encode())
    # With the secret in hand it is the same number that the attacker computes without.
    text = spelt(mac(victim.key, content + glue + more, scheme.algorithm), scheme.encoding)
    return with_header(with_header(sent, places(victim.signed or scheme)[0][1]), places(scheme)[0][1], text)


@mutation
def lines_of_sns_that_move_to_the_next_field(rng: Random, victim: Victim) -> Sent | None:
    """SNS signs names and values in lines, so a value with lines in it can hold the field after it."""
    message = _data(victim.genuine.body)
    if victim.name != "aws-sns" or not isinstance(message, dict):
        return None
    fields = ["Message", "MessageId", *(["Subject"] if "Subject" in message else []), "Timestamp", "TopicArn", "Type"]
    at = rng.randrange(len(fields) - 1)
    one, other = fields[at], fields[at + 1]
    message[one] = f"{message[one]}\n{other}\n{message.pop(other)}"
    return _with_body(victim, json.dumps(message, separators=(",", ":")).encode())


@mutation
def two_changes_at_once(rng: Random, victim: Victim) -> Sent | None:
    one = rng.choice([a_bit_of_the_body, a_bit_of_a_header, another_query, an_odd_time])(rng, victim)
    if one is None:
        return None
    headers = a_header_gone_or_empty_or_twice(rng, victim).headers
    return one._replace(headers=headers) if rng.random() < 0.5 else one._replace(body=_flipped(rng, one.body or b"x"))


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


def _timed(victim: Victim, text: bytes, *, is_signed: bool) -> Sent | None:
    scheme = victim.signed
    if scheme is None or scheme.timestamp is None:
        return None
    if is_signed and victim.profile.tolerance == math.inf:
        return None
    if is_signed:
        return resigned(victim, victim.genuine, timestamp=text)
    return with_signature(victim, victim.genuine, signature_in(scheme, victim.genuine), timestamp=text)


def _moved(scheme: SignedScheme, sent: Sent, name: str) -> bytes | None:
    match name:
        case "body":
            return sent.body
        case "timestamp" if (scheme.timestamp or "").startswith("header:"):
            return sent.only((scheme.timestamp or "").removeprefix("header:"))
        case "id":
            return sent.only((scheme.id or "").removeprefix("header:"))
        case "url" | "url_unescaped":
            return f"{PUBLIC_URL}?{sent.query}".encode()
    return None


def _put(scheme: SignedScheme, sent: Sent, name: str, text: bytes) -> Sent | None:
    match name:
        case "body":
            return sent._replace(body=text)
        case "timestamp":
            return with_header(sent, (scheme.timestamp or "").removeprefix("header:"), text)
        case "id":
            return with_header(sent, (scheme.id or "").removeprefix("header:"), text)
    start = f"{PUBLIC_URL}?".encode()
    return sent._replace(query=text[len(start) :].decode("latin-1")) if text.startswith(start) else None


def _data(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _reversed(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _reversed(data[name]) for name in reversed(data)}
    return [_reversed(each) for each in data] if isinstance(data, list) else data


def _spots(data: Any) -> Any:
    """Every place in the data that holds a value: what it stands in, and under which name."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield data, key
        yield from _spots(value)


def _segment(data: dict[str, Any]) -> str:
    return spelt(json.dumps(data).encode(), "base64url").decode()
