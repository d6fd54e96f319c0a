"""Guesses: what a sender may have signed instead of what arrived. Other bodies, URLs, spellings of a signature or a
secret.

They are for `forensics` alone, which tries each against a signature that was refused already. The lists are short.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from landfast.domain.delivery import Head, Headers
from landfast.domain.json_limits import read_json
from landfast.ports.provider import PublicKey, Secret

LARGEST_JSON = 16 * 1024
"""Bytes of a body that is written anew in a dozen ways: a millisecond for each of them. Events have a few thousand."""

MOST_URLS = 32
"""Two schemes, about four hosts, four paths: what a proxy and a slash come to."""

MOST_HEADS = 24
"""Three headers at most hold something like a digest, in a few spellings each."""

_MARK = b"\xef\xbb\xbf"
_DIGEST_SIZES = {20, 32, 48, 64}
_RUN = re.compile(rb"[A-Za-z0-9+/_-]{26,128}={0,2}")
_LABEL = re.compile(rb"\b(v\d+[a-z]?|sha\d{1,3}|hmac-sha\d{1,3})(?=[=,])")
_LABELS = (b"v1", b"v0", b"v2", b"v1a", b"sha256", b"sha1", b"sha512", b"hmac-sha256")
_GO_ESCAPES = str.maketrans({"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"})


class Guess(NamedTuple):
    cause: str
    what: str
    """How it differs, to end a sentence with."""
    body: bytes


def bodies(body: bytes) -> Iterator[Guess]:
    """The bodies that may have become this one on the way, the cheapest guesses first; each once."""
    tried = {body}
    for guess in _all_bodies(body):
        if guess.body not in tried:
            tried.add(guess.body)
            yield guess


def _all_bodies(body: bytes) -> Iterator[Guess]:
    yield Guess("body-newline", "a trailing newline was added", body.removesuffix(b"\n").removesuffix(b"\r"))
    yield Guess("body-newline", "the white space at its end was added", body.rstrip())
    yield Guess("body-newline", "its trailing newline was taken away", body + b"\n")
    yield Guess("body-newline", "its trailing newline (CRLF) was taken away", body + b"\r\n")
    yield Guess("body-line-ends", "its line ends were LF and became CRLF", body.replace(b"\r\n", b"\n"))
    yield Guess("body-line-ends", "its line ends were CRLF and became LF", re.sub(rb"(?<!\r)\n", b"\r\n", body))
    yield Guess("body-bom", "a byte order mark was added", body.removeprefix(_MARK))
    yield Guess("body-bom", "its byte order mark was taken away", _MARK + body)
    yield from _recoded(body)
    yield from _parsed(body)
    yield from _reserialised(body)


def _recoded(body: bytes) -> Iterator[Guess]:
    # As latin-1, any bytes are text: what is UTF-8 then was UTF-8 twice.
    yield Guess("body-reencoded", "it was latin-1 and became UTF-8", _recode(body, "utf-8", "latin-1"))
    yield Guess("body-reencoded", "it was UTF-8 and became latin-1", _recode(body, "latin-1", "utf-8"))
    text = body.decode("utf-8", "surrogateescape")
    escaped = text if text.isascii() else re.sub(r"[^\x00-\x7f]", _escape, text)
    yield Guess("body-reencoded", "its unicode escapes became characters", escaped.encode("utf-8", "replace"))
    plain = re.sub(r"(?:\\u[0-9a-fA-F]{4})+", _unescape, text)
    yield Guess("body-reencoded", "its characters became unicode escapes", plain.encode("utf-8", "surrogateescape"))


def _recode(body: bytes, arrived: str, signed: str) -> bytes:
    try:
        return body.decode(arrived).encode(signed)
    except UnicodeError:
        return body


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def _unescape(match: re.Match[str]) -> str:
    """Escapes as the characters that they are; but never one that JSON must escape, nor half a character."""
    text: str = json.loads(f'"{match[0]}"')
    return text if text.isprintable() and not set(text) & {'"', "\\"} else match[0]


def _parsed(body: bytes) -> Iterator[Guess]:
    """Signed over what the sender, or a proxy, had parsed."""
    data = _data(body)
    if data is None and b"=" in body:
        yield from _parsed_form(body)
    elif isinstance(data, str):
        yield Guess("body-parsed", "the text inside the JSON string was signed", data.encode("utf-8", "replace"))
    elif data is not None:
        yield Guess("body-parsed", "a Python object's printed form was signed", repr(data).encode("utf-8", "replace"))


def _parsed_form(body: bytes) -> Iterator[Guess]:
    try:
        fields = parse_qs(body.decode("latin-1"), keep_blank_values=True, encoding="latin-1", max_num_fields=1000)
    except ValueError:
        return
    for name in ("payload", "data"):
        if name in fields:
            inside = fields[name][0].encode("latin-1")
            yield Guess("body-parsed", f"the field {name} of the form was signed alone", inside)
    flat = {name: values[0].encode("latin-1").decode("utf-8", "replace") for name, values in fields.items()}
    for separators in ((",", ":"), (", ", ": ")):
        written = json.dumps(flat, separators=separators, ensure_ascii=False)
        yield Guess("body-parsed", "the form's fields were signed as JSON", written.encode())


def _reserialised(body: bytes) -> Iterator[Guess]:
    data = _data(body.removeprefix(_MARK))
    if not isinstance(data, dict | list):
        return
    for is_sorted, (style, separators), is_ascii in product(
        (False, True), (("compact", (",", ":")), ("spaced", (", ", ": "))), (False, True)
    ):
        how = f"{style}{', with its keys sorted' if is_sorted else ''}{', in ASCII' if is_ascii else ''}"
        written = _written(data, sort_keys=is_sorted, separators=separators, ensure_ascii=is_ascii)
        yield Guess("body-reserialised", f"as signed it was {how}", written.encode("utf-8", "replace"))
    compact = _written(data, separators=(",", ":"), ensure_ascii=False)
    as_php = _written(data, separators=(",", ":")).replace("/", "\\/")
    yield Guess("body-reserialised", "as signed it had its slashes escaped, as PHP does", as_php.encode())
    as_go = compact.translate(_GO_ESCAPES)
    yield Guess("body-reserialised", "as signed it had & < > escaped, as Go does", as_go.encode("utf-8", "replace"))
    as_script = _written(_whole(data), separators=(",", ":"), ensure_ascii=False)
    yield Guess(
        "body-reserialised", "as signed it had 1 for 1.0, as JavaScript does", as_script.encode("utf-8", "replace")
    )
    for indent in (2, 4):
        written = _written(data, indent=indent, ensure_ascii=False)
        yield Guess("body-reserialised", f"as signed it was indented by {indent}", written.encode("utf-8", "replace"))


def _data(body: bytes) -> Any:
    if len(body) > LARGEST_JSON:
        return None
    try:
        read_json(body)  # strict and fast: refuses what is too deep before Python's own reader tries
        return json.loads(body)
    except ValueError:
        return None


def _written(data: Any, **options: Any) -> str:
    try:
        return json.dumps(data, **options)
    except ValueError:
        return ""


def _whole(data: Any) -> Any:
    if isinstance(data, float) and data.is_integer():
        return int(data)
    if isinstance(data, dict):
        return {name: _whole(value) for name, value in data.items()}
    return [_whole(value) for value in data] if isinstance(data, list) else data


def urls(public_url: str, head: Head) -> Iterator[str]:
    """The addresses that the sender may know this source by, without the query. For a sentence to the operator: what a
    request says of its host is never believed."""
    own = urlsplit(public_url)
    schemes = [own.scheme or "https", *_listed(head, b"x-forwarded-proto"), "https", "http"]
    hosts = [own.netloc, *_listed(head, b"x-forwarded-host"), *_listed(head, b"host")]
    ports = _listed(head, b"x-forwarded-port")
    names = [host.partition(":")[0] for host in hosts if not host.startswith("[")]
    hosts += [*names, *(f"{name}:{port}" for name in names for port in (*ports, "443", "80"))]
    paths = [path for each in (own.path, head.path) for path in (each, each.rstrip("/"), each.rstrip("/") + "/")]
    # Nearest first: one difference, then more.
    spelt = dict.fromkeys(f"{scheme}://{own.netloc}{own.path}" for scheme in schemes)
    spelt |= dict.fromkeys(f"{own.scheme}://{own.netloc}{path}" for path in paths)
    spelt |= dict.fromkeys(f"{own.scheme}://{host}{own.path}" for host in hosts if host)
    wider = (f"{s}://{h}{p}" for h, p, s in product(hosts, paths, schemes) if h and s in {"http", "https"})
    spelt |= dict.fromkeys(islice(wider, 4 * MOST_URLS))
    spelt.pop(public_url, None)
    return islice(iter(spelt), MOST_URLS)


def _listed(head: Head, name: bytes) -> list[str]:
    """The first of a header's values, which is the one nearest to the sender."""
    text = (head.headers.text(name) or "").partition(",")[0].strip()
    return [text] if text and len(text) <= 255 else []


def relabelled(head: Head) -> Iterator[tuple[str, Head]]:
    """The head with the version of its signature changed; and the version that it has."""
    for name, value in head.headers:
        found = _LABEL.search(value)
        if found is not None and len(value) <= 1024:
            for label in _LABELS:
                if label != found[1]:
                    changed = value[: found.start()] + label + value[found.end() :]
                    yield found[1].decode(), _with(head, name, changed)


def respelt(head: Head) -> Iterator[tuple[str, str, Head]]:
    """The head with a digest in it written in another encoding; the encoding that it has, and that one."""
    return islice(_respelt(head), MOST_HEADS)


def _respelt(head: Head) -> Iterator[tuple[str, str, Head]]:
    for name, value in head.headers:
        for run in _RUN.finditer(value) if len(value) <= 1024 else ():
            for encoding, digest in _digests(run[0]):
                plain = base64.b64encode(digest)
                url_safe = plain.translate(_URLSAFE).rstrip(b"=")
                for other, spelling in (("hex", digest.hex().encode()), ("base64", plain), ("base64url", url_safe)):
                    if spelling != run[0]:
                        changed = value[: run.start()] + spelling + value[run.end() :]
                        yield encoding, other, _with(head, name, changed)


_URLSAFE = bytes.maketrans(b"+/", b"-_")
_PLAIN = bytes.maketrans(b"-_", b"+/")


def _digests(text: bytes) -> Iterator[tuple[str, bytes]]:
    digest = _unhex(text)
    if digest is not None:
        yield "hex", digest
        return
    try:
        stripped = text.rstrip(b"=").translate(_PLAIN)
        inside = binascii.a2b_base64(stripped + b"=" * (-len(stripped) % 4), strict_mode=True)
    except ValueError:
        return
    twice = _unhex(inside)
    if twice is not None:
        yield "base64 of hex", twice
    elif len(inside) in _DIGEST_SIZES:
        yield "base64" if base64.b64encode(inside) == text else "base64url", inside


def _unhex(text: bytes) -> bytes | None:
    try:
        digest = binascii.unhexlify(text)
    except ValueError:
        return None
    return digest if len(digest) in _DIGEST_SIZES else None


def _with(head: Head, name: bytes, value: bytes) -> Head:
    pairs = [(each, value if each == name else old) for each, old in head.headers]
    return Head(head.method, head.path, head.query, Headers(pairs), head.content_length)


def forms(secrets: Sequence[Secret]) -> Iterator[tuple[Secret, str, bytes]]:
    """Keys that the same text might mean to another sender, and how each comes about."""
    for secret in secrets:
        if isinstance(secret.key, PublicKey):
            continue
        text, encoded = secret.key.strip(), base64.b64encode(secret.key)
        yield secret, "without the white space around it", text
        yield secret, "without the quotes around it", text.strip(b"'\"")
        yield secret, "decoded from base64", _base64(text.removeprefix(b"whsec_"))
        yield secret, "decoded from hex", _hex(text)
        yield secret, "as text, not decoded from base64", encoded
        yield secret, "as text, not decoded from base64", b"whsec_" + encoded
        yield secret, "as text, not decoded from hex", secret.key.hex().encode()
        yield secret, "as text, not decoded from hex", secret.key.hex().upper().encode()
        yield secret, "without its whsec_", text.removeprefix(b"whsec_")


def _base64(text: bytes) -> bytes:
    try:
        return base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except ValueError:
        return b""


def _hex(text: bytes) -> bytes:
    try:
        return binascii.unhexlify(text)
    except ValueError:
        return b""
