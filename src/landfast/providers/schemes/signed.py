"""A signature over parts of the request, as data: where it stands, what was signed, how it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from msgspec.structs import replace

from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.domain.json_limits import read_json
from landfast.ports.provider import Hidden, Proven, Secret, Signature
from landfast.providers.items import Slice, slicer
from landfast.providers.locations import Read, read_at, split_place
from landfast.providers.request import Draft, Request, other_port
from landfast.providers.schemes import Coverage
from landfast.providers.schemes.algorithms import (
    ALGORITHMS,
    LONGEST_SIGNATURE,
    Algorithm,
    Content,
    decode,
    encode,
    public_key,
)
from landfast.providers.schemes.keyforms import KeyForm, decode_key
from landfast.providers.schemes.timestamps import Unit, seconds_of, written_time
from landfast.providers.template import Template

Encoding = Literal["hex", "base64", "base64url"]

MOST_ENTRIES = 16
"""Parts of one signature header. A sender that rolls its secret sends two signatures; each costs us a comparison."""

LONGEST_ID = 256
"""Bytes of a signed message id; they have about 30."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedScheme:
    signature: str
    """Where it stands: `header:X-Signature`, or `body:`, `form:`, `item:`; of several with `|` between them, every one
    that is there."""
    algorithm: str = "sha256"
    """See `algorithms`."""
    encoding: Encoding = "hex"
    content: str = "{body}"
    """What is signed; see `template`."""
    prefix: str = ""
    """What a signature starts with, such as `sha256=`; `*|` is anything up to the last `|`. In a list, entries that
    start otherwise are not for us."""
    separator: str | None = None
    """Between the entries of a header that lists several signatures."""
    is_repeated: bool = False
    """Whether the header itself may stand several times, one signature in each: Mollie's, after its secret changed."""
    timestamp: str | None = None
    """`header:X-Time`, or `entry:t=` for an entry of the signature header."""
    timestamp_unit: Unit = "s"
    """`iso` is written out, as RFC 3339."""
    id: str | None = None
    """The header of a message id that is part of what is signed."""
    secret: KeyForm = "text"  # noqa: S105 - the form of one
    """How the secret becomes a key; a public key is recognised by itself."""
    require: Mapping[str, str] = field(default_factory=dict)
    """Headers that must have this value, such as the name of the algorithm."""
    key_name: str | None = None
    """`X-Pusher-Key=app_key`: the header that names the key; it must be that setting of a source that has one."""
    is_whole: bool = False
    """Whether the fields in `content` hold all of the event, and the rest of the body is only their envelope."""
    is_json: bool = False
    """Whether a body must look like JSON. Where parts are signed with nothing between them, or one key serves two
    schemes, or a plain hash begins with the secret, a body with a piece more or less would pass as well."""
    shortest: int = 0
    """Bytes that the content has at least, where the same key proves challenges to strangers: they are shorter."""
    signs_once: bool = False
    """Whether a nonce is signed, and not the body: it counts for the first body, and an event with another is held."""
    items: str | None = None
    """For a signature in each item: where the items are. Every one of them must verify."""
    body_digest: str | None = None
    """The parameter of the URL that holds the SHA-256 of a body that is not signed otherwise: Twilio's for JSON."""
    any_port: bool = False
    """Whether the sender may have signed the URL with or without its default port: Twilio's."""

    _template: Template = field(init=False, repr=False, compare=False)
    _content: Callable[[Signature, Request], Content] = field(init=False, repr=False, compare=False)
    _is_direct: bool = field(init=False, repr=False, compare=False)
    _algorithm: Algorithm = field(init=False, repr=False, compare=False)
    _headers: tuple[tuple[str, bytes], ...] = field(init=False, repr=False, compare=False)
    hidden_headers: Mapping[bytes, Hidden] = field(init=False, repr=False, compare=False)
    _fields: tuple[Read, ...] = field(init=False, repr=False, compare=False)
    _text_size: int = field(init=False, repr=False, compare=False)
    _prefix: bytes = field(init=False, repr=False, compare=False)
    _separator: bytes | None = field(init=False, repr=False, compare=False)
    _timestamp_header: tuple[str, bytes] | None = field(init=False, repr=False, compare=False)
    _timestamp_prefix: bytes | None = field(init=False, repr=False, compare=False)
    _id_header: tuple[str, bytes] | None = field(init=False, repr=False, compare=False)
    _require: tuple[tuple[str, bytes, bytes], ...] = field(init=False, repr=False, compare=False)
    _slice: Slice | None = field(init=False, repr=False, compare=False)
    _signs_form: bool = field(init=False, repr=False, compare=False)
    _fields_taken: frozenset[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check_choices()
        places = [split_place(place) for place in self.signature.split("|")]
        kind, _, rest = (self.timestamp or "").partition(":")
        size = ALGORITHMS[self.algorithm].size
        template = Template(self.content)
        derived = {
            "_template": template,
            "_content": template.split if template.has_secret else template.fill,
            "_is_direct": not self.any_port and any(kind == "header" for kind, _ in places),
            "_algorithm": ALGORITHMS[self.algorithm],
            "_headers": tuple(_named(rest) for kind, rest in places if kind == "header"),
            "hidden_headers": {_named(rest)[1]: Hidden.DIGESTED for kind, rest in places if kind == "header"},
            "_fields": tuple(read_at(f"{kind}:{rest}") for kind, rest in places if kind != "header"),
            "_text_size": 0 if size is None else len(encode(bytes(size), self.encoding)),
            "_prefix": self.prefix.encode(),
            "_separator": None if self.separator is None else self.separator.encode(),
            "_timestamp_header": _named(rest) if kind == "header" else None,
            "_timestamp_prefix": rest.encode() if kind == "entry" else None,
            "_id_header": None if self.id is None else _named(split_place(self.id)[1]),
            "_require": tuple((*_named(name), value.lower().encode()) for name, value in self.require.items()),
            "_slice": None if self.items is None else slicer(self.items),
            "_signs_form": template.signs_form,
            "_fields_taken": template.form_fields.union(rest for kind, rest in places if kind == "form")
            if template.form_fields
            else None,
        }
        for name, value in derived.items():  # a frozen dataclass computes derived fields this way: once, here
            object.__setattr__(self, name, value)
        self._check_content()

    @property
    def coverage(self) -> Coverage:
        return "yes" if self.is_whole else self._template.coverage

    @property
    def needs_url(self) -> bool:
        return self._template.needs_url

    def decode_secret(self, text: str) -> bytes:
        if self._algorithm.is_public:
            return public_key(text, self.algorithm.partition("-")[0])
        return decode_key(text, self.secret)

    def present(self, head: Head) -> Signature:
        headers = head.headers
        for name, key, value in self._require:
            if only(headers, name, key).lower() != value:
                raise UnverifiedError(f"the header {name} is not the one that this scheme needs")
        if not self._headers:
            return Signature()
        entries = self._entries(headers)
        timestamp = self._timestamp(headers, entries)
        return Signature(
            self._digests(entries),
            timestamp,
            None if timestamp is None else seconds_of(timestamp, self.timestamp_unit),
            None if self._id_header is None else self._id(headers, *self._id_header),
        )

    def is_absent(self, head: Head) -> bool:
        return bool(self._headers) and all(head.headers.get(key) is None for _, key in self._headers)

    def verify(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:
        if self._signs_form:
            request = self._read_form(request)
        if self._is_direct:
            return Proven(self._matching(signature, request, secrets), signature, request)
        if not self._headers and request.data is None:
            # Fields are read, of each item several: the body is decoded once for all of them, and for whoever finds the
            # events in it.
            request = replace(request, data=request.sight().data)
        if self._slice is not None:
            request = replace(request, items=self._slice(request.body, request.data))
        found: Secret | None = None
        for each in self._readings(request):
            presented = signature if self._headers else Signature(self._digests(self._written(each)))
            try:
                found = self._matching(presented, each, secrets)
            except UnverifiedError:
                if not self.any_port:  # of many items, one that is wrong is enough
                    raise
        if found is None:
            raise UnverifiedError("no active secret made any of the signatures")
        return Proven(found, signature, request)

    def proof(self, signature: Signature, request: Request) -> bytes | None:
        return self._template.fill(signature, request) if self.signs_once else None

    def sign(self, draft: Draft, key: bytes, *, now: float, id_: str) -> None:
        timestamp = written_time(now, self.timestamp_unit) if self.timestamp else ""
        draft.headers.update(self.require)
        if self.key_name:
            header, _, setting = self.key_name.partition("=")
            draft.headers[header] = draft.settings.get(setting, setting)
        if self._timestamp_header is not None:
            draft.headers[self._timestamp_header[0]] = timestamp
        if self._id_header is not None:
            draft.headers[self._id_header[0]] = id_
        if self.body_digest and not draft.request().fields():
            draft.put(f"query:{self.body_digest}", draft.request().sha256().hex())
        presented = Signature((), timestamp.encode(), id=id_.encode())
        request = self._read_form(draft.request()) if self._signs_form else draft.request()
        if self._slice is None:
            self._put(draft, self.signature.partition("|")[0], presented, request, key)
            return
        request = replace(request, items=self._slice(request.body))
        for number, each in enumerate(list(self._readings(request))):
            place = self.signature.strip().replace("item:", f"{self.items}.{number}.")
            self._put(draft, place, presented, each, key)

    def _put(self, draft: Draft, place: str, presented: Signature, request: Request, key: bytes) -> None:
        text = self.prefix.replace("*", "key") + encode(
            self._algorithm.make(key, self._content(presented, request)), self.encoding
        )
        if self._timestamp_prefix is not None and presented.timestamp is not None:
            text = f"{self._timestamp_prefix.decode()}{presented.timestamp.decode()}{self.separator}{text}"
        draft.put(place, text)

    def _check_choices(self) -> None:
        for name, value, choices in (
            ("algorithm", self.algorithm, tuple(ALGORITHMS)),
            ("encoding", self.encoding, get_args(Encoding)),
            ("timestamp_unit", self.timestamp_unit, get_args(Unit)),
            ("secret", self.secret, get_args(KeyForm)),
        ):
            if value not in choices:
                raise ConfigError(f"{name} {value!r} is not known: use {', '.join(choices)}")
        if self.signature.strip() in {"", "header:"}:
            raise ConfigError("header is empty: name the header that holds the signature")
        if self.key_name is not None and not all(part.strip() for part in f"{self.key_name}=".split("=", 2)[:2]):
            raise ConfigError(f"key_name {self.key_name!r} must be HEADER=SETTING, such as X-Pusher-Key=app_key")
        if self.timestamp is not None and not self.timestamp.startswith(("header:", "entry:")):
            raise ConfigError(f"timestamp {self.timestamp!r} must be header:NAME, or entry:PREFIX in the signature")

    def _check_content(self) -> None:
        names, content = self._template.names, self.content
        for part, given in (("timestamp", self.timestamp), ("id", self.id)):
            if part in names and given is None:
                raise ConfigError(f"content {content!r} uses {{{part}}}, and no header is given that holds it")
            if part not in names and given is not None:
                raise ConfigError(f"content {content!r} must hold {{{part}}}: what is not signed proves nothing")
        if self._template.has_secret != self.algorithm.startswith("plain-"):
            raise ConfigError(f"content {content!r} must hold {{secret}} with a plain hash, and with nothing else")
        if self.signs_once and (self.coverage == "yes" or self.items is not None or self._template.has_secret):
            raise ConfigError(f"signs_once is for a signature that does not cover the body, and {content!r} does")
        if not names - {"timestamp", "id", "secret"}:
            raise ConfigError(f"content {content!r} must hold {{body}}, or parts of it")

    def _matching(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Secret:
        if self.key_name:
            _check_key_name(request, *self.key_name.split("="))
        if self.is_json and not request.looks_whole():
            raise UnverifiedError("the body is not JSON from its first bracket to its last, or begins in the query")
        content = self._content(signature, request)
        if self.shortest and len(content) < self.shortest:
            raise UnverifiedError("what is signed is too short for an event")
        check, digests = self._algorithm.check, signature.digests
        matching: Secret | None = None
        for secret in secrets:
            # No early exit: how long this takes says nothing about which secret was right.
            if check(secret.key, content, digests):
                matching = secret
        if matching is None:
            raise UnverifiedError("no active secret made any of the signatures")
        return matching

    def _read_form(self, request: Request) -> Request:
        """Only a form comes with the signature of one; of its fields none may be there that is not signed."""
        if self.body_digest and f"{self.body_digest}=" in request.head.query:
            return self._with_body_digest(request, self.body_digest)
        if self.body_digest and not request.body:
            return replace(request, form=())
        request = request.as_form(is_set="sorted_form" in self._template.names)
        if self._fields_taken is not None and not self._fields_taken.issuperset(request.data):
            raise UnverifiedError("the form has fields beside those that are signed")
        return request

    def _with_body_digest(self, request: Request, name: str) -> Request:
        """A body that is no form is not signed. Then its digest ends the signed URL, behind what the sender was given:
        anywhere else it could be the text of a field."""
        base, _, registered = request.url.partition("?")
        given, digest = request.head.query, f"{name}={request.sha256().hex()}"
        if given not in {registered, f"{registered}&{digest}" if registered else digest} or not given.endswith(digest):
            raise UnverifiedError(f"the body is not the one whose digest stands in {name}")
        return replace(request, url=f"{base}?{given}", form=())

    def _readings(self, request: Request) -> Iterator[Request]:
        """The requests to check: this one, each of its items, or this one under each spelling of its URL."""
        if self._slice is not None:
            if not request.items:
                raise UnverifiedError("there is no item that could be signed")
            for item in request.items:
                yield replace(request, item=_data(item.body))
        else:
            yield request
            if self.any_port:
                yield replace(request, url=other_port(request.url))

    def _written(self, request: Request) -> list[bytes]:
        sight = request.sight()
        values = [text.strip().encode("ascii", "replace") for read in self._fields if (text := read(sight))]
        if not values:
            raise UnverifiedError("the body holds no signature")
        return [entry for value in values for entry in self._split(value)]

    def _entries(self, headers: Headers) -> list[bytes]:
        read = self._all if self.is_repeated else only
        found = [read(headers, name, key) for name, key in self._headers if headers.get(key) is not None]
        if not found:
            raise UnverifiedError(f"the header {self._headers[0][0]} is missing")
        if len(found) == 1:
            return self._split(found[0])
        return [entry for value in found for entry in self._split(value)]

    def _all(self, headers: Headers, _name: str, key: bytes) -> bytes:
        """The values of a header that is repeated, as if they stood in one."""
        return (self._separator or b",").join(value.strip() for each, value in headers if each == key)

    def _split(self, value: bytes) -> list[bytes]:
        if self._separator is None:
            return [value]
        entries = value.split(self._separator, MOST_ENTRIES)
        if len(entries) > MOST_ENTRIES:
            raise UnverifiedError(f"the signature header has more than {MOST_ENTRIES} entries")
        return [entry.strip(b" ") for entry in entries]

    def _digests(self, entries: list[bytes]) -> tuple[bytes, ...]:
        prefix, size, length = self._prefix, self._text_size, self._algorithm.size
        digests = []
        for entry in entries:
            if prefix.startswith(b"*"):
                text = entry.rpartition(prefix[1:])[2]
            elif entry.startswith(prefix):
                text = entry[len(prefix) :]
            else:
                continue
            if (size and len(text) != size) or len(text) > 2 * LONGEST_SIGNATURE:
                continue
            digest = decode(text, self.encoding)
            if digest and len(digest) == (length or len(digest)):
                digests.append(digest)
        if not digests:
            raise UnverifiedError("the signature header holds no well-formed signature")
        return tuple(digests)

    def _timestamp(self, headers: Headers, entries: list[bytes]) -> bytes | None:
        if self._timestamp_header is not None:
            return only(headers, *self._timestamp_header)
        prefix = self._timestamp_prefix
        if prefix is None:
            return None
        found = [entry[len(prefix) :] for entry in entries if entry.startswith(prefix)]
        if len(found) != 1:
            raise UnverifiedError("the signature header needs exactly one timestamp")
        return found[0]

    def _id(self, headers: Headers, name: str, key: bytes) -> bytes:
        value = only(headers, name, key)
        if not value.isascii() or len(value) > LONGEST_ID:
            raise UnverifiedError(f"the header {name} is not ASCII or too long")
        # An id that holds its own delimiter could be cut at two places: one signature for two messages.
        if any(end in value for end in self._template.id_ends):
            raise UnverifiedError(f"the header {name} holds the delimiter that ends it")
        # With nothing before it, it could begin with a piece of what another way of signing has there.
        if self._template.has_bare_id and not value.isalnum():
            raise UnverifiedError(f"the header {name} is not of letters and digits")
        return value


def _check_key_name(request: Request, header: str, setting: str) -> None:
    expected = request.settings.get(setting)
    if expected is not None and only(request.head.headers, *_named(header)) != expected.encode():
        raise UnverifiedError(f"the header {header} is not the source's {setting}")


def only(headers: Headers, name: str, key: bytes) -> bytes:
    """The one value of a header."""
    value = headers.get(key)
    if value is None:
        raise UnverifiedError(f"the header {name} is missing")
    if headers.is_repeated(key):
        raise UnverifiedError(f"the header {name} is repeated")
    if not (value := value.strip()):
        raise UnverifiedError(f"the header {name} is empty")
    return value


def _named(name: str) -> tuple[str, bytes]:
    return name, name.lower().encode()


def _data(body: bytes) -> object:
    try:
        return read_json(body)
    except ValueError:
        return None
