"""From one genuine request, every change that needs no secret: what does intake make of it?

Judged by intake's own entry point, with an inbox in a file and the journal that holds. Right answers are a refusal, a
duplicate, a held event, and a handshake that stores nothing. An event that runs is a failure: somebody who captured one
request would have another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from landfast.caches.local import LocalSeen
from landfast.domain.answer import Answer
from landfast.domain.delivery import Delivery, Head, Headers, Recorded
from landfast.domain.errors import LandfastError
from landfast.domain.ids import BootId, SeenMark
from landfast.inboxes.sqlite import SqliteInbox
from landfast.intake.answers import answer_to
from landfast.intake.counting.tally import Tally
from landfast.intake.durability.strict import StrictJournal
from landfast.intake.receive import Intake
from landfast.intake.record import GroupCommit
from landfast.intake.source import Source
from landfast.ports.provider import PublicKey, Secret
from landfast.providers.request import Draft
from landfast.testing.clock import ManualClock, SeededChance
from tests.intake.desk import CountingWakeup
from tests.providers.keypairs import pair, sender_secret
from tests.providers.oracle import NOW, Sent
from tests.providers.victims import PUBLIC_URL, QUERY, Victim, sent_of, victim, with_header

FORM = b"application/x-www-form-urlencoded"
KINDS = (FORM, b"application/json", b"text/plain", b"multipart/form-data; boundary=x", b"application/xml", b"")
OTHER_VALUES = (b"other", b"1", b"evt_9", b"2026-01-02T03:04:06Z", b"push", b"orders/paid", b"delete")
"""For headers: ids, times, and types of several senders."""


class Forgetful(LocalSeen):
    """A cache that knows nothing: the inbox decides."""

    def has(self, mark: SeenMark) -> bool:
        return False


class NotingInbox(SqliteInbox):
    """Notes what is new in it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.new: list[Delivery] = []

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        recorded = await super().record(deliveries)
        self.new += [each for each, row in zip(deliveries, recorded, strict=True) if row.is_new]
        return recorded


class Counter:
    """An intake with a real inbox, and what is new in that."""

    def __init__(self, folder: Path, victims: Sequence[Victim], *, forgets: bool = False) -> None:
        self.clock = ManualClock(datetime.fromtimestamp(NOW, UTC))
        self.inbox = NotingInbox(folder / "inbox.db", clock=self.clock, chance=SeededChance())
        seen = Forgetful() if forgets else LocalSeen()
        sources = [_source_of(each) for each in victims]
        group = GroupCommit(StrictJournal(self.inbox, clock=self.clock), seen=seen, wakeup=CountingWakeup())
        names = [each.name for each in sources]
        tally = Tally(self.inbox, boot=BootId(b"boot-one"), clock=self.clock, sources=names)
        self.intake = Intake(sources, recorder=group, seen=seen, tally=tally, clock=self.clock)

    async def take(self, victim: Victim, sent: Sent) -> tuple[Answer, list[Delivery]]:
        """The answer, and the events that are new by it."""
        self.inbox.new.clear()
        head = Head(sent.method, f"/in/{victim.name}", sent.query, Headers(sent.headers), len(sent.body))
        self.clock.advance(sent.now - self.clock.now().timestamp())
        try:
            answer = await self.intake.respond(self.intake.admit(head), sent.body)
        except LandfastError as error:
            return answer_to(error), []
        return answer, list(self.inbox.new)


def _source_of(victim: Victim) -> Source:
    siblings = victim.profile.siblings if victim.profile.unsigned_type else None
    return replace(victim.source, name=victim.name, siblings=siblings)


def in_other_ways(name: str) -> list[Victim]:
    """As its sender may send it too: signed by each of its other schemes, and where it has them by a GET or as JSON."""
    first = victim(name)
    others = [_signed_by(first, scheme, number) for number, scheme in enumerate(first.schemes) if number]
    if name == "twilio":
        as_json = _drafted(first, b'{"EventType":"call.ended","CallSid":"CA1"}', {"Content-Type": "application/json"})
        others += [_signed_by(first, scheme, number, as_json) for number, scheme in enumerate(first.schemes, 10)]
    if name == "messagebird":
        for number, query in enumerate(
            ("id=1&status=sent&statusDatetime=2026", "originator=49&body=hello%20you&id=2", "x=1&y=2")
        ):
            draft = Draft(b"", {}, f"{PUBLIC_URL}?{query}", "GET")
            others += [
                _signed_by(first, scheme, 10 * number + at, draft) for at, scheme in enumerate(first.schemes, 10)
            ]
    return others


def _signed_by(first: Victim, scheme: Any, number: int, draft: Draft | None = None) -> Victim:
    draft = _drafted(first, first.genuine.body) if draft is None else replace(draft, headers=dict(draft.headers))
    source, key = first.source, first.key
    if getattr(scheme, "algorithm", "") == "ed25519":
        private, public = pair("ed25519")
        source = replace(source, secrets=(Secret("public", first.profile.decode_secret(public)),))
        key = private.encode()
    elif isinstance(key, PublicKey):
        key = sender_secret(first.name).encode()
    scheme.sign(draft, key, now=NOW, id_="msg1001")
    return replace(first, name=f"{first.name}+{number}", source=source, genuine=sent_of(draft))


def _drafted(first: Victim, body: bytes, headers: dict[str, str] | None = None) -> Draft:
    """Its headers without those that the first scheme writes."""
    if headers is None:
        given = dict(zip(["content-type"], map(bytes.decode, first.genuine.values("content-type")), strict=True))
        signed = Draft(body, dict(given), f"{PUBLIC_URL}?{QUERY}", settings=first.profile.given)
        key = sender_secret(first.name).encode() if isinstance(first.key, PublicKey) else first.key
        first.schemes[0].sign(signed, key, now=NOW, id_="msg1001")
        written = {name.lower().encode() for name in signed.headers.keys() - given.keys()}
        headers = {name.decode(): value.decode() for name, value in first.genuine.headers if name not in written}
    return Draft(body, headers, f"{PUBLIC_URL}?{QUERY}", settings=first.profile.given)


def changes(victim: Victim) -> Iterator[tuple[str, Sent]]:
    """Each by a name; a few hundred for one request."""
    for make in (_headers, _kinds, _forms, _moves, _spellings, _queries, _methods, _envelopes, _types):
        for name, sent in make(victim):
            if sent != victim.genuine:
                yield name, sent


def _headers(victim: Victim) -> Iterator[tuple[str, Sent]]:
    genuine = victim.genuine
    for name, value in genuine.headers:
        text = name.decode()
        yield f"without {text}", with_header(genuine, text)
        yield f"{text} twice", with_header(genuine, text, value, value)
        yield f"{text} twice, the first another", with_header(genuine, text, b"other", value)
        yield f"{text} in capitals", with_header(genuine, text, value.upper())
        for other in OTHER_VALUES:
            yield f"{text}: {other.decode()}", with_header(genuine, text, other)
    for place in ("svix-id", "webhook-id", "X-Request-Id", "ce-id", *_header_places(victim)):
        if not genuine.values(place):
            yield f"{place} beside it", with_header(genuine, place, b"other")


def _header_places(victim: Victim) -> list[str]:
    profile = victim.profile
    locations = [profile.key, profile.type, profile.entity or "", profile.occurred_at or ""]
    words = " ".join(locations).replace(",", " ").split()
    return [word.partition("header:")[2] for word in words if "header:" in word]


def _types(victim: Victim) -> Iterator[tuple[str, Sent]]:
    for name in victim.profile.unsigned_type:
        for other in (b"pull_request.1", b"push", b"orders/paid", b"order.created", b"repo:push", b"convo.assigned", b"create",
                      b"delete", b"harbour.ice.melted", b"deploy_failed", b"customers/redact", b"x" * 300, b"", b"a b"):  # fmt: skip
            yield f"the type {other.decode()[:20]}", with_header(victim.genuine, name, other)


def _kinds(victim: Victim) -> Iterator[tuple[str, Sent]]:
    for kind in KINDS:
        yield f"Content-Type {kind.decode()}", with_header(victim.genuine, "Content-Type", kind)
        yield f"Content-Type {kind.decode()} beside it", _with_second(victim.genuine, b"content-type", kind)
    yield "Content-Type with a charset", with_header(victim.genuine, "Content-Type", FORM + b"; charset=utf-16")


def _with_second(sent: Sent, name: bytes, value: bytes) -> Sent:
    return sent._replace(headers=((name, value), *sent.headers))


def _forms(victim: Victim) -> Iterator[tuple[str, Sent]]:
    body = victim.genuine.body
    if _is_json(body):
        yield "JSON as a field of a form", _bodied(victim, b"payload=" + quote(body.decode()).encode(), FORM)
        return
    pairs = parse_qsl(body.decode(), keep_blank_values=True)
    if not pairs:
        return
    (first, value), rest = pairs[0], pairs[1:]
    spelt = {
        "in another order": pairs[::-1],
        "with a field more": [*pairs, ("extra", "1")],
        "with a field more before it": [("extra", "1"), *pairs],
        "with a field twice": [*pairs, pairs[0]],
        "with another value first": [(first, "other"), *pairs],
        "with another value last": [*pairs, (first, "other")],
        "with a name that ends later": [(first + value[:1], value[1:]), *rest],
    }
    for name, fields in spelt.items():
        yield f"a form {name}", _bodied(victim, urlencode(fields).encode())
    yield "a form escaped throughout", _bodied(victim, _escaped(pairs).encode())
    yield "a form with empty fields", _bodied(victim, b"&&" + body + b"&")
    as_json = json.dumps(dict(pairs)).encode()
    yield "a form as JSON", _bodied(victim, as_json, b"application/json")
    hidden = json.dumps({"a": "&" + body.decode() + "&", **dict(pairs)}).encode()
    yield "a form in a text of JSON", _bodied(victim, hidden, b"application/json")
    moved = "".join(name + text for name, text in sorted(pairs))
    yield "a form in the query", _bodied(victim, b"{}", b"application/json")._replace(query=f"shop=7{quote(moved)}")
    yield "a form behind a dot", _bodied(victim, b"{}", b"application/json")._replace(query=f"shop=7.{quote(moved)}")


def _moves(victim: Victim) -> Iterator[tuple[str, Sent]]:
    """Bytes of the body into a header, where both are signed and nothing, or too little, tells where one ends."""
    genuine = victim.genuine
    body = genuine.body
    for name, value in genuine.headers:
        text = name.decode()
        for at in (1, 2, 9, len(body) // 2, len(body) - 2, len(body) - 1):
            for joint in (b"", b".", b":"):
                moved = genuine._replace(body=body[at:])
                yield f"{at} bytes into {text}{joint.decode()}", with_header(moved, text, value + joint + body[:at])
                moved = genuine._replace(body=body[:at])
                yield (
                    f"all but {at} bytes into {text}{joint.decode()}",
                    with_header(moved, text, body[at:] + joint + value),
                )
        for at in range(1, min(4, len(value))):
            yield f"{at} bytes of {text} before it", with_header(_bodied(victim, value[-at:] + body), text, value[:-at])
            yield f"{at} bytes of {text} behind it", with_header(_bodied(victim, body + value[:at]), text, value[at:])
        for cut, fields in _cut_forms(body):
            moved = _bodied(victim, urlencode(fields).encode())
            yield f"a form from {cut[:20]} on into {text}", with_header(moved, text, cut.encode() + value)
            if cut[:1] in ".:,":
                ended = cut[1:].encode() + cut[:1].encode() + value
                yield f"a form behind {cut[:20]} into {text}", with_header(moved, text, ended)


def _cut_forms(body: bytes) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """A form in the order of its fields, ended at each letter of its values: the rest as it is signed, and the form."""
    pairs = sorted(parse_qsl(body.decode(), keep_blank_values=True)) if not _is_json(body) else []
    for number, (name, value) in enumerate(pairs):
        rest = "".join(field + text for field, text in pairs[number + 1 :])
        for at in range(len(value)):
            yield value[at:] + rest, [*pairs[:number], (name, value[:at])]


def _is_json(body: bytes) -> bool:
    return body.startswith((b"{", b"["))


def _bodied(victim: Victim, body: bytes, kind: bytes | None = None) -> Sent:
    sent = victim.genuine._replace(body=body)
    return sent if kind is None else with_header(sent, "Content-Type", kind)


def _spellings(victim: Victim) -> Iterator[tuple[str, Sent]]:
    body = victim.genuine.body
    yield "a blank more", _bodied(victim, body + b" ")
    yield "a line break more", _bodied(victim, body + b"\r\n")
    yield "a blank before it", _bodied(victim, b" " + body)
    yield "a byte order mark", _bodied(victim, b"\xef\xbb\xbf" + body)
    yield "in UTF-16", _bodied(victim, body.decode().encode("utf-16"))
    if _is_json(body):
        data = json.loads(body)
        yield "indented", _bodied(victim, json.dumps(data, indent=1).encode())
        yield "escaped", _bodied(victim, body.replace(b"e", b"\\u0065"))
        if isinstance(data, dict):
            yield "in another order", _bodied(victim, json.dumps(dict(reversed(data.items()))).encode())
            yield "with a field more", _bodied(victim, json.dumps({**data, "extra": 1}).encode())
            for name, value in data.items():
                twice = b'{"%b":"other",' % name.encode() + body[1:]
                yield f"{name} twice", _bodied(victim, twice)
                if isinstance(value, dict) and value:
                    yield f"{name} flat", _bodied(victim, json.dumps({**data, **value}).encode())


def _queries(victim: Victim) -> Iterator[tuple[str, Sent]]:
    genuine = victim.genuine
    yield "no query", genuine._replace(query="")
    for more in ("extra=1", "id=9", "type=other", "x", "?", "%", "shop=8", "%73hop=7"):
        yield f"the query {more}", genuine._replace(query=more)
        yield f"the query and {more}", genuine._replace(query=f"{genuine.query}&{more}")
        yield f"{more} and the query", genuine._replace(query=f"{more}&{genuine.query}")

    pairs = parse_qsl(genuine.query, keep_blank_values=True)
    yield "the query in another order", genuine._replace(query=urlencode(pairs[::-1]))
    yield "the query escaped throughout", genuine._replace(query=_escaped(pairs))
    yield "the query with empty fields", genuine._replace(query=f"&{genuine.query}&&")
    yield "the query as a form", _bodied(victim, genuine.query.encode(), FORM)._replace(query="")


def _escaped(pairs: list[tuple[str, str]]) -> str:
    return "&".join(f"{quote(name)}={''.join(f'%{byte:02X}' for byte in text.encode())}" for name, text in pairs)


def _methods(victim: Victim) -> Iterator[tuple[str, Sent]]:
    for method in ("POST", "GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "post"):
        yield method, victim.genuine._replace(method=method)
        yield f"{method} without a body", victim.genuine._replace(method=method, body=b"")


def _envelopes(victim: Victim) -> Iterator[tuple[str, Sent]]:
    body = victim.genuine.body
    if _is_json(body):
        yield "in a list", _bodied(victim, b"[" + body + b"]")
        yield "in a list twice", _bodied(victim, b"[" + body + b"," + body + b"]")
        for name in ("data", "event", "events", "payload", "body"):
            yield f"in {name}", _bodied(victim, b'{"%b":' % name.encode() + body + b"}")
    for later in (60.0, 3_600.0, 10 * 86_400.0):
        yield f"{later:g} s later", victim.genuine._replace(now=victim.genuine.now + later)
