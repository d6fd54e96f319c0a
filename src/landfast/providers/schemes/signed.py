"""A signature over parts of the request, as data: where it stands, what was signed, how it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from landfast.domain.body import excerpt
from landfast.domain.delivery import Head
from landfast.domain.errors import UnverifiedError
from landfast.domain.form import MOST_FORM_FIELDS
from landfast.ports.provider import Hidden, Proven, Secret, Signature
from landfast.providers.items import Slice, form_places, item_data, slicer
from landfast.providers.locations import Read, read_at, split_place
from landfast.providers.request import Draft, Request, other_port
from landfast.providers.schemes import Coverage
from landfast.providers.schemes.algorithms import (
    ALGORITHMS,
    Algorithm,
    Content,
    encode,
    public_key,
)
from landfast.providers.schemes.keyforms import KeyForm, decode_key
from landfast.providers.schemes.signature_headers import Encoding, SignatureHeaders, named, only
from landfast.providers.schemes.signed_checks import check_choices, check_content
from landfast.providers.schemes.timestamps import Unit, seconds_of, written_time
from landfast.providers.skim import Skimmer, skimmer
from landfast.providers.template import Template


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

    template: Template = field(init=False, repr=False, compare=False)
    _content: Callable[[Signature, Request], Content] = field(init=False, repr=False, compare=False)
    _is_direct: bool = field(init=False, repr=False, compare=False)
    _algorithm: Algorithm = field(init=False, repr=False, compare=False)
    _headers: tuple[tuple[str, bytes], ...] = field(init=False, repr=False, compare=False)
    hidden_headers: Mapping[bytes, Hidden] = field(init=False, repr=False, compare=False)
    _fields: tuple[Read, ...] = field(init=False, repr=False, compare=False)
    written_in: SignatureHeaders = field(init=False, repr=False, compare=False)
    _require: tuple[tuple[str, bytes, bytes], ...] = field(init=False, repr=False, compare=False)
    _slice: Slice | None = field(init=False, repr=False, compare=False)
    _signs_form: bool = field(init=False, repr=False, compare=False)
    _fields_taken: frozenset[str] | None = field(init=False, repr=False, compare=False)
    _skim: Skimmer | None = field(init=False, repr=False, compare=False)
    """Of what the proof stands in, or is made of; None for one that no field of the body is read for."""
    _skim_item: Callable[[bytes], object] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choices(self)
        places = [split_place(place) for place in self.signature.split("|")]
        kind, _, rest = (self.timestamp or "").partition(":")
        size = ALGORITHMS[self.algorithm].size
        template = Template(self.content)
        read = [f"{kind}:{rest}" for kind, rest in places if kind != "header"] + sorted(template.fields)
        derived = {
            "template": template,
            "_content": template.split if template.has_secret else template.fill,
            "_is_direct": not self.any_port and any(kind == "header" for kind, _ in places),
            "_algorithm": ALGORITHMS[self.algorithm],
            "_headers": tuple(named(rest) for kind, rest in places if kind == "header"),
            "hidden_headers": {named(rest)[1]: Hidden.DIGESTED for kind, rest in places if kind == "header"},
            "_fields": tuple(read_at(f"{kind}:{rest}") for kind, rest in places if kind != "header"),
            "written_in": SignatureHeaders(
                headers=tuple(named(rest) for kind, rest in places if kind == "header"),
                is_repeated=self.is_repeated,
                separator=None if self.separator is None else self.separator.encode(),
                prefix=self.prefix.encode(),
                encoding=self.encoding,
                text_size=0 if size is None else len(encode(bytes(size), self.encoding)),
                size=size,
                timestamp_header=named(rest) if kind == "header" else None,
                timestamp_prefix=rest.encode() if kind == "entry" else None,
                id_header=None if self.id is None else named(split_place(self.id)[1]),
                id_ends=template.id_ends,
                has_bare_id=template.has_bare_id,
            ),
            "_require": tuple((*named(name), value.lower().encode()) for name, value in self.require.items()),
            "_slice": None if self.items is None else slicer(self.items),
            "_signs_form": template.signs_form,
            "_fields_taken": template.form_fields.union(rest for kind, rest in places if kind == "form")
            if template.form_fields
            else None,
            "_skim": skimmer([*read, *form_places(self.items)], "body", "form") if read else None,
            "_skim_item": partial(excerpt, read_json=skimmer(read, "item")),
        }
        for name, value in derived.items():  # a frozen dataclass computes derived fields this way: once, here
            object.__setattr__(self, name, value)
        check_content(self, template)

    @property
    def coverage(self) -> Coverage:
        return "yes" if self.is_whole else self.template.coverage

    @property
    def needs_url(self) -> bool:
        return self.template.needs_url

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
        written = self.written_in
        entries = written.entries(headers)
        timestamp = written.timestamp(headers, entries)
        return Signature(
            written.digests(entries),
            timestamp,
            None if timestamp is None else seconds_of(timestamp, self.timestamp_unit),
            written.id(headers),
        )

    def is_absent(self, head: Head) -> bool:
        return bool(self._headers) and all(head.headers.get(key) is None for _, key in self._headers)

    def verify(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:
        if self._signs_form:
            request = self._read_form(request)
        if self._is_direct and self._skim is None:  # what nearly all senders do, with no call more than it takes
            return Proven(self._matching(signature, request, secrets), signature, request)
        if self._skim is not None and request.data is None:
            # Strangers end here. Who does not is believed for what is read then, by whoever finds the events, too.
            self._proven(signature, self._cut(request.skimmed(self._skim), is_proven=False), secrets, self._skim_item)
            request = request.decoded()
        return self._proven(signature, self._cut(request), secrets, item_data)

    def _cut(self, request: Request, *, is_proven: bool = True) -> Request:
        if self._slice is None or self._is_direct:
            return request
        return replace(request, items=self._slice(request.body, request.data, is_proven=is_proven))

    def _proven(
        self, signature: Signature, request: Request, secrets: Sequence[Secret], read_item: Callable[[bytes], object]
    ) -> Proven:
        if self._is_direct:
            return Proven(self._matching(signature, request, secrets), signature, request)
        found: Secret | None = None
        for each in self._readings(request, read_item):
            presented = signature if self._headers else Signature(self.written_in.digests(self._written(each)))
            try:
                found = self._matching(presented, each, secrets)
            except UnverifiedError:
                if not self.any_port:  # of many items, one that is wrong is enough
                    raise
        if found is None:
            raise UnverifiedError("no active secret made any of the signatures")
        return Proven(found, signature, request)

    def proof(self, signature: Signature, request: Request) -> bytes | None:
        return self.template.fill(signature, request) if self.signs_once else None

    def sign(self, draft: Draft, key: bytes, *, now: float, id_: str) -> None:
        timestamp = written_time(now, self.timestamp_unit) if self.timestamp else ""
        draft.headers.update(self.require)
        if self.key_name:
            header, _, setting = self.key_name.partition("=")
            draft.headers[header] = draft.settings.get(setting, setting)
        if self.written_in.timestamp_header is not None:
            draft.headers[self.written_in.timestamp_header[0]] = timestamp
        if self.written_in.id_header is not None:
            draft.headers[self.written_in.id_header[0]] = id_
        if self.body_digest and not draft.request().fields():
            draft.put(f"query:{self.body_digest}", draft.request().sha256().hex())
        presented = Signature((), timestamp.encode(), id=id_.encode())
        request = self._read_form(draft.request()) if self._signs_form else draft.request()
        if self._slice is None:
            self._put(draft, self.signature.partition("|")[0], presented, request, key)
            return
        request = replace(request, items=self._slice(request.body))
        for number, each in enumerate(list(self._readings(request, item_data))):
            place = self.signature.strip().replace("item:", f"{self.items}.{number}.")
            self._put(draft, place, presented, each, key)

    def _put(self, draft: Draft, place: str, presented: Signature, request: Request, key: bytes) -> None:
        text = self.prefix.replace("*", "key") + encode(
            self._algorithm.make(key, self._content(presented, request)), self.encoding
        )
        if self.written_in.timestamp_prefix is not None and presented.timestamp is not None:
            text = f"{self.written_in.timestamp_prefix.decode()}{presented.timestamp.decode()}{self.separator}{text}"
        draft.put(place, text)

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
        most = MOST_FORM_FIELDS if self._fields_taken is None else len(self._fields_taken)
        request = request.as_form(is_set="sorted_form" in self.template.names, most=most)
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

    def _readings(self, request: Request, read_item: Callable[[bytes], object]) -> Iterator[Request]:
        """The requests to check: this one, each of its items, or this one under each spelling of its URL."""
        if self._slice is not None:
            if not request.items:
                raise UnverifiedError("there is no item that could be signed")
            for item in request.items:
                yield replace(request, item=read_item(item.body))
        else:
            yield request
            if self.any_port:
                yield replace(request, url=other_port(request.url))

    def _written(self, request: Request) -> list[bytes]:
        sight = request.sight()
        values = [text.strip().encode("ascii", "replace") for read in self._fields if (text := read(sight))]
        if not values:
            raise UnverifiedError("the body holds no signature")
        return [entry for value in values for entry in self.written_in.split(value)]


def _check_key_name(request: Request, header: str, setting: str) -> None:
    expected = request.settings.get(setting)
    if expected is not None and only(request.head.headers, *named(header)) != expected.encode():
        raise UnverifiedError(f"the header {header} is not the source's {setting}")
