"""A request as schemes and handshakes see it, and one that is still being written."""

from __future__ import annotations

import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec
from msgspec.structs import replace

from landfast.domain.body import excerpt, is_json_like, light
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import UnverifiedError
from landfast.domain.form import MOST_FORM_FIELDS, form_pairs, form_texts, gathered
from landfast.ports.provider import NO_KEYS
from landfast.providers.items import Item
from landfast.providers.locations import Sight, split_place
from landfast.providers.skim import Skimmer

FORM = b"application/x-www-form-urlencoded"

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})

_UNESCAPED = {f"%{ord(letter):02X}": letter for letter in ":/?@!$'()*,;"}
"""What HubSpot decodes in a URL before it signs it; everything else stays escaped."""


class Request(msgspec.Struct, frozen=True, gc=False):
    head: Head
    body: bytes
    url: str = ""
    """The public one, with the query that the sender was given; empty where the source does not say it."""
    settings: Mapping[str, str] = NO_SETTINGS
    """What the source says for its provider, such as a key id."""
    keys: Mapping[str, bytes] = NO_KEYS
    """What was fetched, by address."""
    item: Any = None
    """The data of the one of many events that is looked at."""
    data: Any = None
    """The body's, where it was decoded already."""
    form: tuple[tuple[bytes, bytes], ...] | None = None
    """The fields of a body that was signed as a form, each as the bytes that it stands for."""
    items: Sequence[Item] | None = None
    """Those that were signed one by one."""

    def sight(self) -> Sight:
        """Its data as well, all of it. A stranger's body is skimmed before, so that there is no more of it."""
        data = light(self.body) if self.data is None else self.data
        return Sight(self.head, data, self.item, data)

    def skimmed(self, skim: Skimmer) -> Request:
        """With as much of its data as a proof needs, and never None: that would be decoded."""
        data = excerpt(self.body, skim, skim.names)
        return replace(self, data={} if data is None else data)

    def decoded(self) -> Request:
        """With all of its data."""
        return replace(self, data=self.sight().data)

    def is_form(self) -> bool:
        """By its Content-Type, and by its looks: what could be taken for JSON is no form."""
        headers = self.head.headers
        kind = (headers.get(b"content-type") or b"").partition(b";")[0].strip().lower()
        return kind == FORM and not headers.is_repeated(b"content-type") and not is_json_like(self.body)

    def fields(self) -> Sequence[tuple[bytes, bytes]]:
        """Of a form that nobody signed, by its looks alone: nobody signed its Content-Type either. None of JSON."""
        try:
            return () if is_json_like(self.body) else _pairs(self.body.decode("latin-1"))
        except UnverifiedError:
            return ()

    def as_form(self, *, is_set: bool = False, most: int = MOST_FORM_FIELDS) -> Request:
        """With its fields, for a sender that signs those: read once, and by nobody in another way. Of a set, a field
        that is repeated counts once. A form of more than `most` is refused before one of them is looked into."""
        if not self.is_form():
            raise UnverifiedError("the body is not sent as a form, and this sender signs the fields of one")
        try:
            pairs = form_pairs(self.body, most)
            if is_set:
                pairs = list(dict.fromkeys(pairs))
            return replace(self, form=tuple(pairs), data=gathered(form_texts(pairs)))
        except ValueError as error:
            raise UnverifiedError(str(error)) from None

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
        """Twilio's: each field and its values without a delimiter, in order, repeats left out."""
        return b"".join(name + value for name, value in sorted(set(self.form or ())))

    def php_form(self) -> bytes:
        """Paddle's: the fields but the signature, in order, as PHP's `serialize` writes an array of strings."""
        pairs = self.form or ()
        fields = dict(pairs)
        if len(fields) < len(pairs):  # the last would count here, and elsewhere none
            raise UnverifiedError("the form has a field twice")
        fields.pop(b"p_signature", None)
        written = (b"%b%b" % (_php_string(name), _php_string(value)) for name, value in sorted(fields.items()))
        return b"a:%d:{%b}" % (len(fields), b"".join(written))

    def url_and_form(self) -> bytes:
        """Plivo's: the URL with its query in order, unescaped, and the fields of a form in order, repeats and all."""
        query = b"&".join(b"%b=%b" % pair for pair in sorted(_pairs(urlsplit(self.registered_url()).query)))
        form = b"".join(name + value for name, value in sorted(self.form or ()))
        mark, joint = b"?" if query or form else b"", b"." if query and form else b""
        return b"".join([self.url_without_query(), mark, query, joint, form])

    def sorted_query(self) -> bytes:
        """MessageBird's: what it has to say stands in the query, and is signed as such."""
        return urlencode(sorted(_pairs(self.head.query))).encode()

    def registered_url(self) -> str:
        """The URL that the sender was given. With another query than that, bytes of the body could hide in it."""
        if self.head.query != self.url.partition("?")[2]:
            raise UnverifiedError("the query is not the one in public_url, which is signed")
        return self.url

    def url_as_sent(self) -> str:
        base = self.url.partition("?")[0]
        return f"{base}?{self.head.query}" if self.head.query else base

    def url_without_query(self) -> bytes:
        return urlunsplit((*urlsplit(self.url)[:3], "", "")).encode()

    def url_unescaped(self) -> bytes:
        text = self.registered_url()
        for escaped, letter in _UNESCAPED.items():
            text = text.replace(escaped, letter).replace(escaped.lower(), letter)
        return text.encode()


def other_port(url: str) -> str:
    """The same URL with its default port written out, or without the port that it has."""
    parts = urlsplit(url)
    if parts.port is not None:
        return parts._replace(netloc=parts.netloc.rpartition(":")[0]).geturl()
    default = {"https": 443, "http": 80}.get(parts.scheme)
    return parts._replace(netloc=f"{parts.netloc}:{default}").geturl()


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
    path: str = ""
    """Where it is not the URL's: an endpoint is signed by the path that it was declared with."""

    def request(self) -> Request:
        return Request(self.head(), self.body, self.url, self.settings)

    def head(self) -> Head:
        parts = urlsplit(self.url)
        pairs = ((name.encode(), value.encode("latin-1")) for name, value in self.headers.items())
        return Head(self.method, self.path or parts.path or "/", parts.query, Headers(pairs), len(self.body))

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
