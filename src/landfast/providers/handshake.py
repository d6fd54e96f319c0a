"""Handshakes, as data: how a sender asks whether this address is really somebody's, and the exact answer."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

import msgspec

from landfast.domain.answer import Answer
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.ports.provider import Greeting, PublicKey, Secret, Signature
from landfast.providers.locations import Read, Sight, as_text, pick_at, read_at
from landfast.providers.request import Request
from landfast.providers.schemes.algorithms import encode
from landfast.providers.template import Template

LONGEST_ECHO = 4096
"""Bytes that a stranger may have us say back. Challenges have up to 200, Microsoft's tokens about 1,000."""

CHALLENGE = "[A-Za-z0-9_.~+/=-]{1,512}"
"""What a stranger may have us sign. X signs challenges and events alike: whoever could ask for the proof of an event's
body would have its signature. No event looks like this, and a body that does is never one."""

HASHES = ("sha1", "sha256", "sha384", "sha512")
ENCODINGS = ("hex", "base64", "base64url")

SUCCESSES = frozenset(status.value for status in HTTPStatus if 200 <= status < 300)

_UNSIGNED = Signature()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A value that only a holder of the secret can give: the HMAC of what `of` names; a mere digest if not keyed."""

    of: str
    algorithm: str = "sha256"
    encoding: str = "hex"
    prefix: str = ""
    is_keyed: bool = True
    matches: str = CHALLENGE
    """The pattern of what a stranger may have proven; a narrower one where what an event has signed looks like that."""

    def __post_init__(self) -> None:
        for name, value, choices in (("algorithm", self.algorithm, HASHES), ("encoding", self.encoding, ENCODINGS)):
            if value not in choices:
                raise ConfigError(f"{name} {value!r} is not known: use {', '.join(choices)}")
        _check_pattern("matches", self.matches)


Value = str | int | Proof
"""A template, such as `{query:hub.challenge}`, a number as it is, or a proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handshake:
    """Recognised by method and `when`; answered with `text`, as plain text that no browser runs, or with `json`."""

    when: str = ""
    """`body:type=url_verification`; a place that must have any value, `query:code`; one that must have none,
    `!header:X-Signature`; with `&` between several."""
    method: str = "POST"
    is_signed: bool = False
    """Whether it is signed like an event: then it is answered only after it was verified."""
    token: str | None = None
    """`query:hub.verify_token=verify_token`: the value there must be that setting of the source."""
    text: Value | None = None
    json: Mapping[str, Value] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    visit: str | None = None
    """Where an address stands that somebody must open to go on."""
    visits: str = ""
    """The pattern of the addresses that the provider is known to send."""

    _conditions: tuple[tuple[Read, str | None], ...] = field(init=False, repr=False, compare=False)
    _values: tuple[tuple[str, _Filled], ...] = field(init=False, repr=False, compare=False)
    _headers: tuple[tuple[bytes, _Filled], ...] = field(init=False, repr=False, compare=False)
    needle: bytes = field(init=False, repr=False, compare=False)
    """A body without it is no such handshake; empty where there is no such text."""

    def __post_init__(self) -> None:
        if self.method not in {"GET", "HEAD", "OPTIONS", "POST"}:
            raise ConfigError(f"method {self.method!r} is none that a handshake has: GET, HEAD, OPTIONS or POST")
        if self.text is not None and self.json is not None:
            raise ConfigError("a handshake answers with text or with json, not with both")
        if self.method == "POST" and not self.when.strip():
            raise ConfigError("a handshake by POST needs when: without it every event would be taken for one")
        places = [part.strip().removeprefix("!") for part in self.when.split("&") if part.strip()]
        if not self.is_signed and not all(place.startswith(("header:", "query:")) for place in places):
            raise ConfigError(f"when {self.when!r} reads the body, which is read only if the handshake is_signed")
        self._check_answer()
        conditions = tuple(_condition(part) for part in self.when.split("&") if part.strip())
        values = {"": self.text} if self.text is not None else self.json or {}  # only json has names
        given = {name: value for name, value in values.items() if not isinstance(value, int)}
        derived = {
            "_conditions": conditions,
            "_values": tuple(
                (name, _filled(f"json.{name}" if name else "text", value)) for name, value in given.items()
            ),
            "_headers": tuple(
                (name.lower().encode(), _filled(f"headers.{name}", value)) for name, value in self.headers.items()
            ),
            "needle": next((value.encode() for _, value in conditions if value and len(value) > 4), b""),
        }
        for name, value in derived.items():  # a frozen dataclass computes derived fields this way: once, here
            object.__setattr__(self, name, value)

    def _check_answer(self) -> None:
        if self.status not in SUCCESSES:
            raise ConfigError(f"status {self.status} is no success; a handshake is answered with 200, 202 or 204")
        place, _, setting = (self.token or "header:X=any").partition("=")
        if not setting.strip():
            raise ConfigError(f"token {self.token!r} must be PLACE=SETTING, as query:hub.verify_token=verify_token")
        pick_at(place)
        if self.visit is not None and not self.visits:
            raise ConfigError("visit needs visits: without a pattern a stranger could have us open any address")
        if self.visit is not None:
            pick_at(self.visit)
        _check_pattern("visits", self.visits)

    @property
    def needs_url(self) -> bool:
        return any(filled.template.needs_url for _, filled in self._values)

    @property
    def proves_to_strangers(self) -> bool:
        proofs = [filled.proof for _, filled in self._values if filled.proof is not None]
        return not self.is_signed and any(proof.is_keyed for proof in proofs)

    @property
    def settings(self) -> set[str]:
        named = {self.token.partition("=")[2].strip()} if self.token else set()
        return named.union(*(filled.template.settings for _, filled in self._values))

    def met(self, request: Request, secret: Secret | None) -> Greeting | None:
        """The answer, if this request is the handshake. UnverifiedError for a wrong token."""
        if request.head.method != self.method:
            return None
        if self.is_signed and self.needle and self.needle not in request.body and not self.is_in_head():
            return None  # no parse for the many that are no handshake
        sight = request.sight() if self.is_signed else Sight(request.head, None)
        if not all(_holds(read(sight), expected) for read, expected in self._conditions):
            return None
        self._check_token(sight, request.settings)
        try:
            if not self.is_signed:
                self._check_challenges(request)
            values = {name: filled.fill(request, secret) for name, filled in self._values}
            headers = tuple((name, _one_line(filled.fill(request, secret))) for name, filled in self._headers)
        except UnverifiedError:
            return None  # what should be echoed is not there
        if sum(map(len, values.values())) > LONGEST_ECHO:
            return None
        return Greeting(self._answer(values, headers), self._visit(sight))

    def _check_challenges(self, request: Request) -> None:
        for _, filled in self._values:
            is_keyed = filled.proof is not None and filled.proof.is_keyed
            if is_keyed and not filled.matches.fullmatch(filled.template.fill(_UNSIGNED, request)):
                raise UnverifiedError("the challenge could be an event, and nobody gets one signed")

    def _answer(self, values: dict[str, bytes], headers: tuple[tuple[bytes, bytes], ...]) -> Answer:
        if self.json is not None:
            written = {name: value.decode("utf-8", "replace") for name, value in values.items()}
            return Answer(self.status, msgspec.json.encode({**self.json, **written}), headers=headers)
        # Plain text, and every answer says nosniff: what a sender chose must never run in somebody's browser.
        return Answer(self.status, values.get("", b""), b"text/plain; charset=utf-8", headers)

    def is_in_head(self) -> bool:
        return any(part.strip().removeprefix("!").startswith(("header:", "query:")) for part in self.when.split("&"))

    def _check_token(self, sight: Sight, settings: Mapping[str, str]) -> None:
        if self.token is None:
            return
        place, _, setting = self.token.partition("=")
        given = as_text(pick_at(place)(sight)) or ""
        expected = settings.get(setting.strip(), "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode()) or not expected:
            raise UnverifiedError(f"the handshake's token is not the source's {setting.strip()}")

    def _visit(self, sight: Sight) -> str | None:
        url = as_text(pick_at(self.visit)(sight)) if self.visit else None
        return url if url is not None and len(url) <= LONGEST_ECHO and re.fullmatch(self.visits, url) else None


def _check_pattern(name: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{name} {pattern!r} is no pattern: {error}") from None


def _filled(name: str, value: str | Proof) -> _Filled:
    try:
        return _Filled(value)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


class _Filled:
    """A value, compiled."""

    __slots__ = ("_prefix", "matches", "proof", "template")

    def __init__(self, value: str | Proof) -> None:
        self.proof = value if isinstance(value, Proof) else None
        self.template = Template(value.of if isinstance(value, Proof) else value)
        self._prefix = Template(value.prefix if isinstance(value, Proof) else "")
        self.matches = _pattern(value.matches if isinstance(value, Proof) else CHALLENGE)

    def fill(self, request: Request, secret: Secret | None) -> bytes:
        content = self.template.fill(_UNSIGNED, request)
        if self.proof is None:
            return content
        if not self.proof.is_keyed:
            digest = hashlib.new(self.proof.algorithm, content).digest()
        elif secret is None or not secret.key or isinstance(secret.key, PublicKey):
            raise UnverifiedError("there is no secret to answer with")
        else:
            digest = hmac.digest(secret.key, content, self.proof.algorithm)
        return self._prefix.fill(_UNSIGNED, request) + encode(digest, self.proof.encoding).encode()


def _pattern(text: str) -> re.Pattern[bytes]:
    try:
        return re.compile(text.encode())
    except re.error as error:
        raise ConfigError(f"matches {text!r} is no pattern: {error}") from None


def _condition(part: str) -> tuple[Read, str | None]:
    """The place, and the value that it must have: empty for any, None for none."""
    place, _, expected = part.strip().removeprefix("!").partition("=")
    return read_at(place), None if part.strip().startswith("!") else expected.strip()


def _holds(found: str | None, expected: str | None) -> bool:
    return found is None if expected is None else found is not None and (not expected or found == expected)


def _one_line(value: bytes) -> bytes:
    """A header's value, unless it could end the header and begin another."""
    if len(value) > LONGEST_ECHO or not value.isascii() or not value.decode().isprintable():
        raise UnverifiedError("the value cannot stand in a header")
    return value


def met(handshakes: Sequence[Handshake], request: Request, secret: Secret | None) -> Greeting | None:
    """The answer of the first that the request is."""
    for each in handshakes:
        greeting = each.met(request, secret)
        if greeting is not None:
            return greeting
    return None
