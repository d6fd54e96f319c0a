"""What is signed, and what a handshake answers, as text with parts in braces, compiled once.

{body}                                  the raw body; {crc32} and {sha256} are its checksum and digest
{timestamp}, {id}                       as the signature presents them
{header:Name}, {query:name}             a header, a parameter; refused where it is missing
{body:a.b}, {form:name}, {item:a.b}     a field; of what is signed, none in a list
{setting:name}                          what the source says for its provider
{url}, {url_without_query}, {url_unescaped}, {sorted_query}, {method}, {path}
{sorted_form}, {php_form}               the fields of a form, in order: as they are, and as PHP serialises them
{url_and_form}                          the URL with its query, and the fields of a form, both in order
{secret}                                the key itself, in the one or two senders that hash it with the body

A `?` before the closing brace makes a field that is not there an empty one. A `!`, before that, refuses a field that
holds a text which stands between the parts: only one part of a content may, or two requests have the same one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from string import Formatter
from typing import Literal

from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.ports.provider import Signature
from landfast.providers.locations import KINDS, as_text, is_absent, pick_at
from landfast.providers.request import Request

Part = Callable[[Signature, Request], bytes]
Fill = Callable[[Signature, Request], bytes]

_WHOLE: dict[str, Part] = {
    "body": lambda _signature, request: request.body,
    "timestamp": lambda signature, _request: signature.timestamp or b"",
    "id": lambda signature, _request: signature.id or b"",
    "crc32": lambda _signature, request: request.crc32(),
    "sha256": lambda _signature, request: request.sha256(),
    "url": lambda _signature, request: request.registered_url().encode(),
    "url_without_query": lambda _signature, request: request.url_without_query(),
    "url_unescaped": lambda _signature, request: request.url_unescaped(),
    "url_and_form": lambda _signature, request: request.url_and_form(),
    "sorted_query": lambda _signature, request: request.sorted_query(),
    "method": lambda _signature, request: request.head.method.encode(),
    "path": lambda _signature, request: request.head.path.encode(),
    "sorted_form": lambda _signature, request: request.sorted_form(),
    "php_form": lambda _signature, request: request.php_form(),
}
_IN_FIELDS = ("body:", "item:", "parent:", "name:", "xml:")
_OF_THE_BODY = frozenset({"body", "sha256", "sorted_form", "php_form", "url_and_form"})
_OF_A_FORM = frozenset({"sorted_form", "php_form", "url_and_form"})
_OF_THE_URL = frozenset({"url", "url_without_query", "url_unescaped", "url_and_form", "sorted_query"})


class Template:
    """`fill` gives the bytes; where the text holds {secret}, `split` gives those before and after it."""

    __slots__ = ("_after", "_before", "fill", "has_bare_id", "id_ends", "names", "pieces", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        pieces = self.pieces = _pieces(text)
        self.names = frozenset(name for _, name in pieces if name is not None)
        self.id_ends = _id_ends(pieces)
        """The texts on either side of the id: an id that holds one could be cut at two places."""
        self.has_bare_id = any(number and not literal for number, (literal, name) in enumerate(pieces) if name == "id")
        """Whether nothing stands between the id and what is before it."""
        delimiters = [literal for literal, _ in pieces if literal]
        halves: list[list[Part | bytes]] = [[]]
        for literal, name in pieces:
            if literal:
                halves[-1].append(literal)
            if name == "secret":
                halves.append([])
            elif name is not None:
                halves[-1].append(_part(name, text, delimiters))
        if len(halves) > 2:
            raise ConfigError(f"{text!r} holds {{secret}} more than once")
        self.fill = _filler([part for half in halves for part in half])
        self._before, self._after = _filler(halves[0]), _filler(halves[-1])

    def split(self, signature: Signature, request: Request) -> tuple[bytes, bytes]:
        return self._before(signature, request), self._after(signature, request)

    @property
    def has_secret(self) -> bool:
        return "secret" in self.names

    @property
    def coverage(self) -> Literal["yes", "checksum", "no"]:
        if self.names & _OF_THE_BODY:
            return "yes"
        return "checksum" if "crc32" in self.names else "no"

    @property
    def form_fields(self) -> frozenset[str]:
        """The fields of a form that are named one by one."""
        return frozenset(name.removeprefix("form:").rstrip("?!") for name in self.names if name.startswith("form:"))

    @property
    def fields(self) -> frozenset[str]:
        """The places in the body, or in an item of it, that are read."""
        return frozenset(name.rstrip("?!") for name in self.names if name.startswith(_IN_FIELDS))

    @property
    def signs_form(self) -> bool:
        return bool(self.names & _OF_A_FORM or self.form_fields)

    @property
    def needs_url(self) -> bool:
        return bool(self.names & _OF_THE_URL)

    @property
    def settings(self) -> frozenset[str]:
        return frozenset(name.partition(":")[2] for name in self.names if name.startswith("setting:"))


def _pieces(text: str) -> list[tuple[bytes, str | None]]:
    try:
        parsed = list(Formatter().parse(text))
    except ValueError as error:
        raise ConfigError(f"content {text!r} cannot be read: {error}") from None
    # Formatter takes `header:Name` for a field with a format: put the two together again.
    return [
        (literal.encode(), name if name is None else f"{name}:{form}" if form else name)
        for literal, name, form, _ in parsed
    ]


def _id_ends(pieces: list[tuple[bytes, str | None]]) -> tuple[bytes, ...]:
    # Before the first part of all stands nothing that could be taken for its beginning.
    before = [literal for (literal, name) in pieces[1:] if name == "id"]
    after = [literal for (_, name), (literal, _) in itertools.pairwise(pieces) if name == "id"]
    return tuple(literal for literal in (*before, *after) if literal)


def _part(name: str, text: str, delimiters: list[bytes]) -> Part:
    if "!" in name:
        return _whole_between(_part(name.replace("!", "", 1), text, []), name.partition("!")[0], delimiters)
    whole = _WHOLE.get(name)
    if whole is not None:
        return whole
    kind, colon, rest = name.partition(":")
    if kind == "setting" and rest:
        return _setting(rest)
    if not colon or kind not in KINDS:
        known = ", ".join(f"{{{each}}}" for each in _WHOLE)
        raise ConfigError(f"content {text!r} uses {{{name}}}, which is none of {known}, {{header:NAME}}, ...")
    return _header(rest) if kind == "header" else _field(name)


def _whole_between(part: Part, name: str, delimiters: list[bytes]) -> Part:
    def checked(signature: Signature, request: Request) -> bytes:
        value = part(signature, request)
        if any(delimiter in value for delimiter in delimiters):
            raise UnverifiedError(f"{name} holds the delimiter that ends it")
        return value

    return checked


def _setting(name: str) -> Part:
    def part(_signature: Signature, request: Request) -> bytes:
        value = request.settings.get(name)
        if value is None:
            raise UnverifiedError(f"the source does not say its {name}")
        return value.encode()

    return part


def _header(name: str) -> Part:
    is_optional = name.endswith("?")
    name = name.removesuffix("?")
    key = name.lower().encode()

    def part(_signature: Signature, request: Request) -> bytes:
        value = request.head.headers.get(key)
        if value is None:
            if is_optional:
                return b""
            raise UnverifiedError(f"the header {name} is missing")
        if request.head.headers.is_repeated(key):
            raise UnverifiedError(f"the header {name} is repeated")
        return value.strip()

    return part


def _field(place: str) -> Part:
    is_optional = place.endswith("?")
    place = place.removesuffix("?")
    pick = pick_at(place)

    def part(_signature: Signature, request: Request) -> bytes:
        sight = request.sight()
        value = pick(sight)
        text = as_text(value)
        if text is None:
            # Only what is not there may be left out. A number with a point would be there, and signed by nobody.
            if is_optional and (value == "" or (value is None and is_absent(sight, place))):
                return b""
            raise UnverifiedError(f"{place} is missing or empty, or neither text nor a whole number")
        try:
            return text.encode()
        except UnicodeEncodeError:
            raise UnverifiedError(f"{place} holds half of a surrogate pair") from None

    return part


def _filler(parts: list[Part | bytes]) -> Fill:
    if len(parts) == 1 and not isinstance(parts[0], bytes):
        return parts[0]  # no copy of the body: GitHub's may have 25 MiB
    if [part for part in parts if not isinstance(part, bytes)] == [_WHOLE["timestamp"], _WHOLE["body"]]:
        # What half of all senders sign, and so on the hot path: one formatting instead of a call for each part.
        form = b"".join([part.replace(b"%", b"%%") if isinstance(part, bytes) else b"%b" for part in parts])
        return lambda signature, request: form % (signature.timestamp, request.body)
    return lambda signature, request: b"".join(
        [part if isinstance(part, bytes) else part(signature, request) for part in parts]
    )
