"""Forgeries by somebody who knows how the provider signs: other algorithms, other versions, other cuts of what was signed.

Many are made with the right key, where only the rule that they break can refuse them; none of them is anything that
the sender ever sent.
"""

from __future__ import annotations

import copy
import json
import struct
from itertools import pairwise
from random import Random
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from landfast.ports.provider import PublicKey
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.signed import SignedScheme
from tests.providers.mutations import data_in, mutation, mutation_of, spots_in
from tests.providers.oracle import Sent, names_in, places
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

HASHES = {"HS256": "sha256", "HS384": "sha384", "HS512": "sha512"}


@mutation
def a_digest_by_another_algorithm(rng: Random, victim: Victim) -> Sent | None:
    """Whoever takes it takes a weaker or a shorter proof than the sender gives."""
    scheme = victim.signed
    if scheme is None or isinstance(victim.key, PublicKey) or places(scheme)[0][0] != "header":
        return None
    name = rng.choice(["sha1", "sha256", "sha384", "sha512", "md5", "plain-sha256"])
    encoding = rng.choice(["hex", "base64"])
    if (name, encoding) in {(each.algorithm, each.encoding) for each in victim.schemes}:
        return None
    digest = mac(victim.key, content_of(scheme, victim.genuine, victim.key), name)
    cut = rng.choice([len(digest), 20, 16, 8, 4, 1])
    sent = with_signature(victim, victim.genuine, spelt(digest[:cut], encoding))
    if not scheme.prefix:
        return sent
    header = places(scheme)[0][1]
    word = rng.choice([scheme.prefix, f"{name}=", "v0=", "v1a,", ""]).encode()
    return with_header(sent, header, (sent.only(header) or b"").replace(scheme.prefix.encode(), word, 1))


@mutation
def a_signature_with_a_key_that_anybody_has(rng: Random, victim: Victim) -> Sent | None:
    schemes = [each for each in victim.schemes if isinstance(each, SignedScheme) and places(each)[0][0] == "header"]
    if not schemes:
        return None
    scheme = rng.choice(schemes)
    known = [b"", b" ", b"\n", b"\x00", b"null", b"None", bytes(32), victim.name.encode(), *4 * public_forms(victim)]
    key = rng.choice(known)
    hash_ = scheme.algorithm if "sha" in scheme.algorithm[:9] else rng.choice(["sha256", "sha1", "sha512"])
    digest = mac(key, content_of(scheme, victim.genuine, key), hash_.rpartition("rsa-")[2].rpartition("ecdsa-")[2])
    if scheme is victim.signed:
        return with_signature(victim, victim.genuine, spelt(digest, scheme.encoding))
    return _as_version(victim, scheme, victim.genuine, digest)


@mutation
def a_token_that_chooses_its_algorithm(rng: Random, victim: Victim) -> Sent | None:
    if not isinstance(victim.schemes[0], JwtScheme):
        return None
    odd: list[dict[str, Any]] = [
        {"kid": "../../dev/null"},
        {"jwk": {"kty": "oct", "k": ""}},
        {"jku": "https://a.example"},
    ]
    name = rng.choice(["none", "None", "NONE", "", "HS256", "HS384", "HS512", "RS256", "ES256", "EdDSA"])
    key = rng.choice([b"", b" ", b"secret", victim.name.encode(), *public_forms(victim)])
    return _token(rng, victim, {"alg": name, "typ": "JWT", **rng.choice([{}, *odd])}, key, is_signed=rng.random() < 0.5)


@mutation
def a_token_of_the_right_key_and_the_wrong_kind(rng: Random, victim: Victim) -> Sent | None:
    scheme = victim.schemes[0]
    if not isinstance(scheme, JwtScheme) or isinstance(victim.key, PublicKey):
        return None
    other = [name for name in HASHES if name not in scheme.algorithms]
    crit: dict[str, Any] = {"alg": "HS256", "crit": ["b64"], "b64": False}
    return _token(rng, victim, rng.choice([crit, *({"alg": name} for name in other)]), victim.key, is_signed=True)


@mutation
def a_byte_that_moves_to_the_next_part(rng: Random, victim: Victim) -> Sent | None:
    """What is joined without anything between can be cut elsewhere, and the signature is right for that as well."""
    scheme = victim.signed
    if scheme is None:
        return None
    names, content = names_in(scheme.content), scheme.content
    joined = [pair for pair in pairwise(names) if f"{{{pair[0]}}}{{{pair[1]}}}" in content]
    if not joined:
        return None
    one, other = rng.choice(joined)
    left, right = (_part(scheme, victim.genuine, name) for name in (one, other))
    if left is None or right is None:
        return None
    near = [max(0, len(left) + count) for count in (-9, -6, -3, -2, -1, 1, 2, 3, 6, 9)]
    whole = left + right
    before_objects = [at for at in range(len(whole)) if whole[at : at + 1] == b"{" and at != len(left)]
    return _recut(scheme, victim.genuine, (one, other), whole, rng.choice(rng.choice([near, before_objects or near])))


@mutation
def a_part_that_holds_what_ends_it(rng: Random, victim: Victim) -> Sent | None:
    """`{id}.{timestamp}.{body}`, captured with a body that begins like a time and a dot: id and time can move on."""
    scheme = victim.signed
    if scheme is None or not scheme.content.startswith("{id}.{timestamp}.") or isinstance(victim.key, PublicKey):
        return None
    at, id_ = _part(scheme, victim.genuine, "timestamp") or b"", _part(scheme, victim.genuine, "id") or b""
    body = rng.choice([b"forged", victim.genuine.body])
    captured = resigned(victim, victim.genuine._replace(body=at + b"." + body))
    return captured and _put(scheme, captured._replace(body=body), "id", id_ + b"." + at)


@mutation
def a_signature_of_another_version(rng: Random, victim: Victim) -> Sent | None:
    """All that was signed by the one scheme as the body of another that the same key serves."""
    scheme = victim.signed
    others = [each for each in victim.schemes[1:] if isinstance(each, SignedScheme) and each.content.endswith("{body}")]
    if scheme is None or not others or isinstance(victim.key, PublicKey):
        return None
    other = rng.choice(others)
    captured = [each for each in victim.schemes if each.algorithm == other.algorithm and each.content != other.content]
    if not captured:
        return None
    used = rng.choice(captured)
    body = content_of(used, victim.genuine, b"" if "{secret}" in used.content else victim.key)
    signature = mac(victim.key, content_of(used, victim.genuine, victim.key), used.algorithm)
    return _as_version(victim, other, victim.genuine._replace(body=body), signature)


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
    # With the secret in hand it is the same number that the forger computes without.
    longer = mac(victim.key, content + glue + more, scheme.algorithm)
    return _as_version(victim, scheme, victim.genuine._replace(body=victim.genuine.body + glue + more), longer)


@mutation
def lines_of_sns_that_move_to_the_next_field(rng: Random, victim: Victim) -> Sent | None:
    """SNS signs names and values in lines, so a value with lines in it can hold the field after it."""
    message = data_in(victim.genuine.body)
    if victim.name != "aws-sns" or not isinstance(message, dict):
        return None
    fields = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
    at = rng.randrange(len(fields) - 1)
    one, other = fields[at], fields[at + 1]
    message[one] = f"{message[one]}\n{other}\n{message.pop(other)}"
    return victim.genuine._replace(body=json.dumps(message, separators=(",", ":")).encode())


@mutation_of("body")
def a_form_spelt_otherwise(rng: Random, victim: Victim) -> Sent | None:
    """The same fields are the same event; a field twice is another thing, where one of the two could be overlooked."""
    pairs = parse_qsl(victim.genuine.body.decode("latin-1"), keep_blank_values=True, encoding="latin-1")
    if not victim.profile.samples[0].is_form:
        return None
    name, value = rng.choice(pairs)
    changed = [
        urlencode(rng.sample(pairs, len(pairs))),
        urlencode(pairs, quote_via=quote),
        "&".join(f"{_escaped(name)}={_escaped(value)}" for name, value in pairs),
        urlencode([*pairs, (name, value)]),
        urlencode([(name, "forged"), *pairs]),
        urlencode([*pairs, (name, "forged")]),
        "&" + urlencode(pairs) + "&&",
    ]
    return victim.genuine._replace(body=rng.choice(changed).encode("latin-1"))


@mutation
def an_item_more(rng: Random, victim: Victim) -> Sent | None:
    """Where each item proves itself, one that does not must be enough."""
    path = getattr(victim.schemes[0], "items", None)
    data = data_in(victim.genuine.body)
    if path is None or not isinstance(data, dict):
        return None
    items: list[Any] = data[path.removeprefix("body:")]
    forged = copy.deepcopy(items[0])
    holder, key = rng.choice(list(spots_in(forged)))
    holder[key] = "forged"
    items.insert(rng.randrange(len(items) + 1), rng.choice([forged, {}, None, [], 7]))
    return victim.genuine._replace(body=json.dumps(data, separators=(",", ":")).encode())


def _token(rng: Random, victim: Victim, header: dict[str, Any], key: bytes, *, is_signed: bool) -> Sent:
    assert victim.header is not None
    prefix, _, token = (victim.genuine.only(victim.header) or b"").decode().rpartition(" ")
    _, claims, signature = token.split(".")
    forged = f"{_segment(header)}.{claims}"
    made = mac(key, forged.encode(), HASHES.get(header["alg"], "sha256"))
    ending = spelt(made, "base64url").decode() if is_signed else rng.choice(["", signature, "AA"])
    return with_header(victim.genuine, victim.header, f"{prefix} {forged}.{ending}".strip().encode())


def _segment(data: dict[str, Any]) -> str:
    return spelt(json.dumps(data).encode(), "base64url").decode()


def _as_version(victim: Victim, scheme: SignedScheme, sent: Sent, digest: bytes) -> Sent:
    """With the headers of this one of the provider's schemes, and of no other."""
    if victim.header is not None:
        sent = with_header(sent, victim.header)
    for name, value in scheme.require.items():
        sent = with_header(sent, name, value.encode())
    return with_header(sent, places(scheme)[0][1], scheme.prefix.encode() + spelt(digest, scheme.encoding))


def _recut(scheme: SignedScheme, sent: Sent, names: tuple[str, str], whole: bytes, cut: int) -> Sent | None:
    moved = _put(scheme, sent, names[0], whole[:cut])
    return moved and _put(scheme, moved, names[1], whole[cut:])


def _part(scheme: SignedScheme, sent: Sent, name: str) -> bytes | None:
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


def _escaped(text: str) -> str:
    return "".join(f"%{letter:02x}" for letter in text.encode("latin-1"))
