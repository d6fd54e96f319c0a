"""Bodies that cost the most to decode, with proofs that are well formed and wrong: what a stranger can send."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from landfast.intake.source import Source
from landfast.ports.provider import PublicKey, Secret
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.sns import SnsScheme
from landfast.providers.schemes.token import TokenScheme
from tests.providers.oracle import Sent, names_in
from tests.providers.victims import Victim, with_header

MEBIBYTE = 1024 * 1024

VALUES = {
    "lists": (b"[", b"[],", b"[]]"),
    "numbers": (b"[", b"1000,", b"1000]"),
    "texts": (b"[", b'"ab",', b'"ab"]'),
    "texts with brackets": (b"[", b'"[",', b'"["]'),
    "empty objects": (b"[", b"{},", b"{}]"),
    "objects": (b"[", b'{"a":[]},', b"{}]"),
    "nested lists": (b"[", b"[" * 60 + b"]" * 60 + b",", b"1]"),
    "a list without end": (b"[", b"[", b""),
    "lists without end": (b"[", b"[1,", b""),
    "escapes": (b'"', b"\\u0041", b'"'),
    "one field again and again": (b"{", b'"a":{},', b'"a":1}'),
}
"""What a text begins with, what is repeated in it, and what it ends with."""

FORMS = {
    "escapes": (b"a=", b"%41", b""),
    "high escapes": (b"a=", b"%ff", b""),
    "what is no escape": (b"a=", b"%", b""),
    "signs between escapes": (b"a=", b"=%41+", b""),
    "fields": (b"a=1", b"&a=1", b""),
    "long fields": (b"a=1", b"&a=" + b"%5B" * 400, b""),
    "long fields with signs": (b"a=1", b"&a=" + b"=%5B" * 300, b""),
    "JSON in a field": (b"payload=%7B%22a%22%3A[", b"[],", b"[]%5D%7D"),
    "parts": (b"--b\r\n", b'--b\r\n name="jso"\r\n\r\n', b""),
}


def stranger(victim: Victim) -> Source:
    """The victim's source, with secrets that nobody signed with; public keys did not sign another body either."""
    secrets = [
        secret if isinstance(secret.key, PublicKey) else Secret(secret.name, b"a secret that nobody has")
        for secret in victim.source.secrets
    ]
    return dataclasses.replace(victim.source, secrets=tuple(secrets))


def hostile(victim: Victim) -> Iterator[tuple[str, Sent]]:
    size = min(victim.profile.body_limit, MEBIBYTE)
    values = {name: _text(*value, size) for name, value in VALUES.items()}
    for name, value in [*values.items(), ("fields", _fields(size))]:
        for where, body in _bodies(victim, value):
            yield f"{name} {where}", victim.genuine._replace(body=body)
    forms = {**FORMS, **{f"escapes in {name}": (name.encode() + b"=", b"%41", b"") for name in _form_names(victim)}}
    for name, form in forms.items():
        sent = victim.genuine._replace(body=_text(*form, size))
        yield f"a form of {name}", with_header(sent, "content-type", b"application/x-www-form-urlencoded")


def _bodies(victim: Victim, value: bytes) -> Iterator[tuple[str, bytes]]:
    """The value itself, beside the genuine fields, and wherever the scheme looks for something."""
    yield "alone", value
    yield "in a part", b'--b\r\nContent-Disposition: form-data; name="json"\r\n\r\n{"a":' + value + b"}\r\n--b--"
    if victim.genuine.body.startswith(b"{"):
        yield "before the rest", b'{"junk":' + value + b"," + victim.genuine.body[1:]
        yield "after the rest", victim.genuine.body[:-1] + b',"junk":' + value + b"}"
    for place in _places(victim):
        genuine = json.loads(victim.genuine.body)
        for depth in range(1, len(place) + 1):
            yield f"at {'.'.join(place[:depth])}", _with(genuine, place[:depth], value)
            yield f"first in {'.'.join(place[:depth])}", _with(genuine, place[:depth], b"[" + value + b"]")


def _places(victim: Victim) -> list[list[str]]:
    """The fields of a body that the schemes read; of items, those of the first one."""
    found = []
    for scheme in victim.schemes:
        items: str | None = getattr(scheme, "items", None)
        for place in _read(scheme):
            kind, _, rest = place.rstrip("?!").partition(":")
            if kind == "body" and rest:
                found.append(rest.split("."))
            if kind == "item" and items is not None:
                found.append([*items.removeprefix("body:").split("."), "0", *rest.split(".")])
    return found


def _form_names(victim: Victim) -> set[str]:
    """The fields of a form that the schemes read."""
    places = [place.rstrip("?!").partition(":") for scheme in victim.schemes for place in _read(scheme)]
    return {rest.split(".")[0] for kind, _, rest in places if kind in {"form", "body"} and rest}


def _read(scheme: Any) -> list[str]:
    match scheme:
        case SignedScheme(signature=signature, content=content):
            return [*(place.strip() for place in signature.split("|")), *names_in(content)]
        case TokenScheme(token=token):
            return [token]
        case SnsScheme():
            return ["body:Signature", "body:Message", "body:Type"]
        case AnyOf(schemes=schemes):
            return [place for each in schemes for place in _read(each)]
    return []


def _with(data: Any, path: list[str], value: bytes) -> bytes:
    """The data as JSON, with this text as the value at a path."""
    data = json.loads(json.dumps(data))
    inner, (*above, last) = data, path
    for step in above:
        inner = inner[int(step)] if isinstance(inner, list) else inner.setdefault(step, {})
    inner[int(last) if isinstance(inner, list) else last] = "@hostile@"
    return json.dumps(data).encode().replace(b'"@hostile@"', value)


@cache
def _text(start: bytes, unit: bytes, end: bytes, size: int) -> bytes:
    room = size - 4096  # for the genuine fields around it
    return start + unit * (room // len(unit)) + end


@cache
def _fields(size: int) -> bytes:
    return b"{%b}" % b",".join(b'"%06d":[]' % number for number in range((size - 4096) // 12))
