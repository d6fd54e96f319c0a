"""A request as schemes and handshakes see it, and one that is still being written."""

from __future__ import annotations

import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from landfast.domain.body import MOST_FORM_FIELDS, light
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import UnverifiedError
from landfast.ports.provider import NO_KEYS
from landfast.providers.locations import Sight, split_place

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})

_UNESCAPED = {f"%{ord(letter):02X}": letter for letter in ":/?@!$'()*,;"}
"""What HubSpot decodes in a URL before it signs it; everything else stays escaped."""


class Request(msgspec.Struct, frozen=True, gc=False):
    head: Head
    body: bytes
    url: str = ""
    """The public one, with its query; empty where the source does not say it."""
    settings: Mapping[str, str] = NO_SETTINGS
    """What the source says for its provider, such as a key id."""
    keys: Mapping[str, bytes] = NO_KEYS
    """What was fetched, by address."""
    item: Any = None
    """The data of the one of many events that is looked at."""
    data: Any = None
    """The body's, where it was decoded already."""

    def sight(self) -> Sight:
        """Its data as well, decoded: for those schemes whose signature stands in the body, or covers fields of it."""
        data = light(self.body, self.head.headers.text(b"content-type")) if self.data is None else self.data
        return Sight(self.head, data, self.item, data)

    def crc32(self) -> bytes:
        return b"%d" % binascii.crc32(self.body)

    def sha256(self) -> bytes:
        return hashlib.sha256(self.body).digest()

    def looks_whole(self) -> bool:
        """Whether the body is JSON from its first bracket to its last, by its looks, and none of it in the query: one
        that something was cut from, or added to, is not. A NUL is what a longer hash needs between the two."""
        text = self.body.strip()
        is_whole = text[:1] + text[-1:] in {b"{}", b"[]"} and b"\0" not in text
        return (is_whole or not self.body) and "{" not in self.head.query

    def sorted_form(self) -> bytes:
        """Twilio's and Mandrill's: each field and its values without a delimiter, in order, repeats left out. Nothing
        for a body that is no form."""
        return b"".join(name + value for name, value in sorted(set(self._form())))

    def php_form(self) -> bytes:
        """Paddle's: the fields but the signature, in order, as PHP's `serialize` writes an array of strings."""
        pairs = _pairs(self.body.decode("latin-1"))
        fields = dict(pairs)
        if len(fields) < len(pairs):  # the last would count here, and elsewhere none
            raise UnverifiedError("the form has a field twice")
        fields.pop(b"p_signature", None)
        written = (b"%b%b" % (_php_string(name), _php_string(value)) for name, value in sorted(fields.items()))
        return b"a:%d:{%b}" % (len(fields), b"".join(written))

    def url_and_form(self) -> bytes:
        """Plivo's: the URL with its query in order, unescaped, and the fields of a form in order, repeats and all."""
        query = b"&".join(b"%b=%b" % pair for pair in sorted(_pairs(urlsplit(self.url).query)))
        form = b"".join(name + value for name, value in sorted(self._form()))
        mark, joint = b"?" if query or form else b"", b"." if query and form else b""
        return b"".join([self.url_without_query(), mark, query, joint, form])

    def sorted_query(self) -> bytes:
        return urlencode(sorted(_pairs(urlsplit(self.url).query))).encode()

    def url_without_query(self) -> bytes:
        return urlunsplit((*urlsplit(self.url)[:3], "", "")).encode()

    def url_unescaped(self) -> bytes:
        text = self.url
        for escaped, letter in _UNESCAPED.items():
            text = text.replace(escaped, letter).replace(escaped.lower(), letter)
        return text.encode()

    def _form(self) -> list[tuple[bytes, bytes]]:
        kind = self.head.headers.get(b"content-type") or b""
        is_form = kind.lower().startswith(b"application/x-www-form-urlencoded")
        return _pairs(self.body.decode("latin-1")) if is_form else []


def other_port(url: str) -> str | None:
    """The same URL with its default port written out, or left out; None for a port of its own."""
    parts = urlsplit(url)
    default = {"https": 443, "http": 80}.get(parts.scheme)
    if parts.port is None:
        return parts._replace(netloc=f"{parts.netloc}:{default}").geturl()
    return parts._replace(netloc=parts.netloc.rpartition(":")[0]).geturl() if parts.port == default else None


def _php_string(text: bytes) -> bytes:
    return b's:%d:"%b";' % (len(text), text)


def _pairs(text: str) -> list[tuple[bytes, bytes]]:
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, encoding="latin-1", errors="strict", max_num_fields=MOST_FORM_FIELDS
        )
    except ValueError:
        raise UnverifiedError("the form has more fields than any sender sends") from None
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]


@dataclass(slots=True)
class Draft:
    """A request that is about to be signed: `sign` fills in what is missing."""

    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    url: str = ""
    method: str = "POST"
    settings: Mapping[str, str] = field(default_factory=dict)

    def request(self) -> Request:
        return Request(self.head(), self.body, self.url, self.settings)

    def head(self) -> Head:
        parts = urlsplit(self.url)
        pairs = ((name.encode(), value.encode("latin-1")) for name, value in self.headers.items())
        return Head(self.method, parts.path or "/", parts.query, Headers(pairs), len(self.body))

    def put(self, place: str, text: str) -> None:
        """Write a value where a profile says that it stands."""
        kind, rest = split_place(place)
        if kind == "header":
            self.headers[rest] = text
        elif kind == "query":
            joint = "&" if "?" in self.url else "?"
            self.url += joint + urlencode({rest: text})
        elif self._is_form():
            fields = dict(parse_qsl(self.body.decode(), keep_blank_values=True))
            self.body = urlencode(fields | {rest: text}).encode()
        else:
            data = json.loads(self.body)
            set_field(data, rest.split("."), text)
            self.body = json.dumps(data, separators=(",", ":")).encode()

    def _is_form(self) -> bool:
        kind = next((value for name, value in self.headers.items() if name.lower() == "content-type"), "")
        return kind.startswith("application/x-www-form-urlencoded")


def set_field(data: Any, path: list[str], value: Any) -> None:
    *parents, last = path
    for step in parents:
        data = data[int(step)] if isinstance(data, list) else data.setdefault(step, {})
    data[last] = value
