"""What a signature covers, worked out a second time: from a profile's data, with none of the code that verifies.

A request is still genuine when everything that was signed is as it was, and the signature is there: nobody needs a key
to see that. So this cannot make the mistakes that verification could, and has no opinion where a request merely looks
right. What it calls the same, and may so be accepted, is exactly:

* headers, parameters, fields and bytes that the scheme does not cover, such as the body beside a token in clear, or the
  envelope of the fields that SNS, Adyen, Mailgun, Mandrill, Dropbox Sign, Braintree and Paddle sign
* the case of hex digits and of the word before a token, blanks around a header's value, the case of a header's name
* other signatures beside the genuine one, where a sender may send several
* another spelling of the same thing, where the thing is signed and not its spelling: the order and escaping of a form
  (Twilio, Mandrill, Paddle Classic, Plivo), of a query (MessageBird), of a few letters of a URL (HubSpot)
* a time within the tolerance, and any time where none is signed
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from landfast.domain.delivery import Head, Headers
from landfast.providers import Profile
from landfast.providers.schemes import Scheme
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.ebay import EbayScheme
from landfast.providers.schemes.jws import JwsScheme
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.paypal import PayPalScheme
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.sns import SnsScheme
from landfast.providers.schemes.token import TokenScheme

NOW = 1_767_323_045.0
MOST = 16
"""Signatures in one request. A sender that rolls its secret sends two; ten thousand are somebody's attack."""

LIFETIME = 60.0
"""Seconds that the tokens count that we sign; a clock may be a second off."""

SNS_FIELDS = ("Type", "MessageId", "TopicArn", "Message", "Subject", "Timestamp", "Token", "SubscribeURL")
UNESCAPED = b":/?@!$'()*,;"
"""What HubSpot writes out in a URL before it signs it."""


class Sent(NamedTuple):
    """A request, in the parts that a forger can change, and when it comes."""

    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    query: str = ""
    method: str = "POST"
    now: float = NOW

    def head(self) -> Head:
        return Head(self.method, "/in/source", self.query, Headers(self.headers), len(self.body))

    def values(self, name: str) -> list[bytes]:
        wanted = name.strip().lower().encode()
        return [value.strip() for each, value in self.headers if each.lower() == wanted]

    def only(self, name: str) -> bytes | None:
        values = self.values(name)
        return values[0] if len(values) == 1 else None


def is_genuine(profile: Profile, genuine: Sent, sent: Sent) -> bool:
    """Whether what arrived still says, and at a time that counts, all that was signed."""
    scheme = signing_scheme(profile)
    return is_timely(profile, sent.now) and _essence(scheme, genuine, genuine) == _essence(scheme, sent, genuine)


def signing_scheme(profile: Profile) -> Scheme:
    """The one that samples are signed with: of several the first."""
    return profile.scheme.schemes[0] if isinstance(profile.scheme, AnyOf) else profile.scheme


def is_timely(profile: Profile, now: float) -> bool:
    """Whether a request that was signed at NOW counts at this time."""
    scheme = signing_scheme(profile)
    if isinstance(scheme, JwtScheme) and not -1.0 <= now - NOW <= LIFETIME + 1.0:
        return False
    is_dated = isinstance(scheme, PayPalScheme) or (isinstance(scheme, SignedScheme) and scheme.timestamp is not None)
    is_dated |= isinstance(scheme, JwtScheme) and scheme.time_claim is not None
    return not (is_dated or profile.signed_at_place) or abs(now - NOW) <= profile.tolerance


def _essence(scheme: Scheme, sent: Sent, genuine: Sent) -> object:
    """Everything of a request that its signature covers, and the signature; None where that is not there once."""
    match scheme:
        case SignedScheme():
            return [_lowered(sent.only(name)) for name in scheme.require], _signed_parts(scheme, sent, genuine)
        case TokenScheme():
            return _tokens(scheme, sent)
        case JwtScheme():
            token = _lowered(sent.only(scheme.header), len(scheme.prefix))
            return token, scheme.body_claim and sent.body, scheme.url_claim and sent.query
        case JwsScheme():
            return _detached(scheme, sent)
        case EbayScheme():
            fields = _json(_unbase64(sent.only("X-EBAY-SIGNATURE")))
            said = (
                [str(fields.get(name)) for name in ("alg", "digest", "signature")] if isinstance(fields, dict) else []
            )
            return said and [said[0].lower(), *said[1:]], sent.body
        case PayPalScheme():
            names = ("PAYPAL-TRANSMISSION-ID", "PAYPAL-TRANSMISSION-TIME", "PAYPAL-TRANSMISSION-SIG")
            return [sent.only(name) for name in names], _lowered(sent.only("PAYPAL-AUTH-ALGO")), sent.body
        case SnsScheme():
            message = _json(sent.body)
            kept = (*SNS_FIELDS, "Signature", "SignatureVersion")
            return [message.get(name) for name in kept] if isinstance(message, dict) else None
    raise TypeError(f"no oracle for {type(scheme).__name__}")


def _signed_parts(scheme: SignedScheme, sent: Sent, genuine: Sent) -> object:
    """What is signed, and whether the genuine signature is with it; of items, each with the one that is its own."""
    if scheme.items is None:
        entries = entries_of(scheme, sent)
        return signature_in(scheme, genuine) in entries and len(entries) <= MOST, parts(scheme, sent)
    items = enumerate(_readings(scheme, sent))
    return {repr((entries_of(scheme, sent, at), parts(scheme, sent, item))) for at, item in items}


def parts(scheme: SignedScheme, sent: Sent, item: Any = None) -> list[object]:
    """What is signed, part by part: never joined, because a byte that moves from one part to the next is a change."""
    return [part_of(scheme, name, sent, item) for name in names_in(scheme.content)]


def names_in(content: str) -> list[str]:
    return re.findall(r"\{([^}]+)\}", content)


def part_of(scheme: SignedScheme, name: str, sent: Sent, item: Any = None) -> object:
    kind, _, rest = name.removesuffix("?").partition(":")
    if not rest and kind in WHOLE:
        return WHOLE[kind](sent)
    match kind:
        case "timestamp":
            return timestamp_of(scheme, sent)
        case "id":
            return sent.only((scheme.id or "").removeprefix("header:"))
        case "header":
            return sent.values(rest)
        case "body":
            return _walk(_json(sent.body), rest)
        case "form":
            return [value for field, value in form_of(sent) if field == rest.encode()]
        case "item":
            return _walk(item, rest)
        case "setting" | "secret":
            return None
    raise TypeError(f"no oracle for {{{name}}}")


def timestamp_of(scheme: SignedScheme, sent: Sent) -> bytes | None:
    kind, _, rest = (scheme.timestamp or "").partition(":")
    if kind == "header":
        return sent.only(rest)
    entries = _split(scheme, sent.only(places(scheme)[0][1]) or b"")
    found = [entry[len(rest) :] for entry in entries if entry.startswith(rest.encode())]
    return found[0] if len(found) == 1 else None


def places(scheme: SignedScheme) -> list[tuple[str, str]]:
    """Where signatures may stand: kind and name."""
    split = [place.strip().partition(":") for place in scheme.signature.split("|")]
    return [(kind, rest) for kind, _, rest in split]


def signature_in(scheme: SignedScheme, sent: Sent, at: int = 0) -> bytes:
    """The genuine one, as it is written."""
    return next(iter(entries_of(scheme, sent, at)), b"")


def entries_of(scheme: SignedScheme, sent: Sent, at: int = 0) -> list[bytes]:
    """The signatures that stand in a request, hex in lower case; in the item of this number, if it has items."""
    readings = _readings(scheme, sent)
    values = [value for kind, name in places(scheme) for value in _written(scheme, sent, kind, name, readings[at:])]
    prefix = scheme.prefix.encode()
    found = []
    for entry in [entry for value in values for entry in _split(scheme, value)]:
        if prefix.startswith(b"*"):
            found.append(entry.rpartition(prefix[1:])[2])
        elif entry.startswith(prefix):
            found.append(entry[len(prefix) :])
    return [text.lower() if scheme.encoding == "hex" else text for text in found]


def form_of(sent: Sent) -> list[tuple[bytes, bytes]]:
    kind = next(iter(sent.values("Content-Type")), b"")  # not signed, so the first of two will do
    return _pairs(sent.body) if kind.lower().startswith(b"application/x-www-form-urlencoded") else []


def _written(scheme: SignedScheme, sent: Sent, kind: str, name: str, items: Sequence[Any]) -> list[bytes]:
    if kind == "header":
        values = sent.values(name)
        return values if scheme.is_repeated or len(values) == 1 else []
    if kind == "form":
        return [value.strip() for field, value in form_of(sent) if field == name.encode()]
    data = (items[0] if items else None) if kind == "item" else _json(sent.body)
    text = _walk(data, name)
    return [text.strip().encode("utf-8", "replace")] if isinstance(text, str) else []


def _readings(scheme: SignedScheme, sent: Sent) -> list[Any]:
    if scheme.items is None:
        return [None]
    listed = _walk(_json(sent.body), scheme.items.partition(":")[2])
    return listed if isinstance(listed, list) else []


def _split(scheme: SignedScheme, value: bytes) -> list[bytes]:
    return (
        [value] if scheme.separator is None else [each.strip(b" ") for each in value.split(scheme.separator.encode())]
    )


def _tokens(scheme: TokenScheme, sent: Sent) -> object:
    kind, _, name = scheme.token.partition(":")
    if kind == "item":
        items = _walk(_json(sent.body), (scheme.items or "").partition(":")[2])
        found = {json.dumps(_walk(item, name)) for item in items} if isinstance(items, list) else set()
        return found if len(found) == 1 else None
    if kind == "query":
        values = [
            value for field, value in _pairs(sent.query.encode("utf-8", "surrogatepass")) if field == name.encode()
        ]
        return values[0] if len(values) == 1 else None
    value = sent.only(name)
    if value is None or not scheme.is_basic:
        return _lowered(value, len(scheme.prefix))
    return value[:6].lower(), _unbase64(value[6:])


def _detached(scheme: JwsScheme, sent: Sent) -> object:
    value = sent.only(scheme.header) or b""
    header = _json(_unbase64(value.partition(b".")[0].translate(bytes.maketrans(b"-_", b"+/")) + b"=="))
    named = str(header.get(scheme.headers_field) or "").split(",") if isinstance(header, dict) else []
    return value, sent.method, [sent.only(name) for name in named], sent.body


def _sorted_form(sent: Sent) -> object:
    # Twilio writes names and values without anything between them, so where one ends is not signed.
    return b"".join(name + value for name, value in sorted(set(form_of(sent))))


def _php_form(sent: Sent) -> object:
    return sorted(pair for pair in _pairs(sent.body) if pair[0] != b"p_signature")


def _url_unescaped(sent: Sent) -> object:
    return re.sub(
        rb"%[0-9A-Fa-f]{2}",
        lambda found: letter if (letter := unquote_to_bytes(found[0])) in UNESCAPED else found[0],
        sent.query.encode("utf-8", "surrogatepass"),
    )


WHOLE: dict[str, Callable[[Sent], object]] = {
    "body": lambda sent: sent.body,
    "url": lambda sent: sent.query,
    "url_without_query": lambda _sent: None,
    "url_unescaped": _url_unescaped,
    "url_and_form": lambda sent: (sorted(_pairs(_query(sent))), b"".join(n + v for n, v in sorted(form_of(sent)))),
    "sorted_query": lambda sent: sorted(_pairs(_query(sent))),
    "sorted_form": _sorted_form,
    "php_form": _php_form,
    "method": lambda sent: sent.method,
    "path": lambda _sent: None,
    "crc32": lambda sent: sent.body,
    "sha256": lambda sent: sent.body,
}


def _query(sent: Sent) -> bytes:
    return sent.query.partition("#")[0].encode("utf-8", "surrogatepass")


def _pairs(text: bytes) -> list[tuple[bytes, bytes]]:
    split = [field.partition(b"=") for field in text.split(b"&") if field]
    return [(_unescaped(name), _unescaped(value)) for name, _, value in split]


def _unescaped(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" "))


def _walk(data: Any, path: str) -> Any:
    for step in path.split("."):
        data = data.get(step) if isinstance(data, dict) else None
    return str(data) if isinstance(data, int) and not isinstance(data, bool) else data


def _json(text: bytes | None) -> Any:
    try:
        return None if text is None else json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _unbase64(text: bytes | None) -> bytes | None:
    try:
        return None if text is None else base64.b64decode(text)
    except binascii.Error:
        return None


def _lowered(text: bytes | None, letters: int | None = None) -> bytes | None:
    """Its first letters, or all of them, in lower case."""
    if text is None:
        return None
    cut = len(text) if letters is None else letters
    return text[:cut].lower() + text[cut:]
