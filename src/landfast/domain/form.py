"""A form: its fields, as bytes and as text. A stranger's too, so that no form takes long."""

from __future__ import annotations

import binascii
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

MOST_FORM_FIELDS = 1_000
"""No sender has a hundred; splitting a body of a million `&` is work for nothing."""

MOST_STRAY_SIGNS = 1_000
"""Of a form: `%` that begin no escape, and in one of many escapes `=` inside of fields. No sender writes that. They
take a slow reader, 0.3 ms for so many."""

MOST_BROKEN_TEXT = 64 * 1024
"""Bytes of the fields of a form that are not UTF-8. Those take twenty times as long to read: 0.4 ms for so many."""

_PLUS_AS_SPACE = bytes.maketrans(b"+", b" ")
_AS_IN_MAIL = bytes.maketrans(b"+%=", b" =%")
_HEXADECIMAL = bytes.maketrans(b"0123456789abcdefABCDEF", b"0" * 22)


def form_pairs(body: bytes, most: int = MOST_FORM_FIELDS) -> list[tuple[bytes, bytes]]:
    """The fields of a form, each as the bytes that it stands for: what `parse_qsl` finds, without its half a second for
    a mebibyte of escapes. ValueError for more fields, or more of what is not escaped, than any sender sends."""
    fields = _fields(body, most)
    escapes = body.count(b"%")
    if escapes > MOST_STRAY_SIGNS:
        return _many_escapes(body, fields, escapes)
    split = [_spaced(field).partition(b"=") for field in fields]
    return [(_unquoted(name), _unquoted(value)) for name, _, value in split]


def named_pairs(body: bytes, names: Collection[bytes]) -> list[tuple[bytes, bytes]]:
    """The same, of these fields alone: the others are passed over, as they are."""
    longest = max(map(len, names), default=0) * 3
    wanted = []
    for field in _fields(body, MOST_FORM_FIELDS):
        name = field[: longest + 1].partition(b"=")[0]
        if len(name) <= longest and _unquoted(_spaced(name)) in names:
            wanted.append(field)
    return form_pairs(b"&".join(wanted))


def is_one_field(body: bytes) -> bool:
    return b"&" not in body.strip(b"&")


def form_texts(pairs: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """The same as text, with a sign in place of what is none; ValueError for more of it than any sender sends."""
    texts, broken = [], 0
    for pair in pairs:
        try:
            texts.append((pair[0].decode(), pair[1].decode()))
        except UnicodeDecodeError:
            broken += len(pair[0]) + len(pair[1])
            if broken > MOST_BROKEN_TEXT:
                raise ValueError("the form is not UTF-8") from None
            texts.append((pair[0].decode("utf-8", "replace"), pair[1].decode("utf-8", "replace")))
    return texts


def _fields(body: bytes, most: int) -> list[bytes]:
    if b"&" not in body:  # found out faster than it is split
        return [body] if body else []
    fields = body.split(b"&", MOST_FORM_FIELDS)  # to count them first would take longer
    named = [field for field in fields if field]
    if len(fields) > MOST_FORM_FIELDS or len(named) > most:
        raise ValueError("the form has more fields than its sender sends")
    return named


def _spaced(text: bytes) -> bytes:
    return text.translate(_PLUS_AS_SPACE) if b"+" in text else text


def _unquoted(text: bytes) -> bytes:
    return unquote_to_bytes(text) if b"%" in text else text


def _many_escapes(body: bytes, fields: list[bytes], escapes: int) -> list[tuple[bytes, bytes]]:
    """Mail has the same escapes behind another sign, and for those the interpreter has a fast reader: the two signs are
    swapped. It is for forms that are escaped as they should be, others get a ValueError."""
    stray = body.count(b"=") - len(fields)
    if 3 * escapes > len(body) or stray > MOST_STRAY_SIGNS or not _is_lines_well_escaped(body, escapes):
        raise ValueError("the form is not escaped as one")
    split = [field.translate(_AS_IN_MAIL).partition(b"%") for field in fields]
    pairs = [(binascii.a2b_qp(name), _unescaped(value)) for name, _, value in split]
    # An escape is three bytes for one. What is none is one or two for one.
    written = sum([len(name) + len(value) for name, _, value in split])
    if written - sum([len(name) + len(value) for name, value in pairs]) != 2 * escapes:
        raise ValueError("the form is not escaped as one")
    return pairs


def _is_lines_well_escaped(body: bytes, escapes: int) -> bool:
    """At the end of a line mail has other rules: there each escape is looked at."""
    has_lines = b"\n" in body or b"\r" in body
    return not has_lines or body.translate(_HEXADECIMAL).count(b"%00") == escapes


def _unescaped(text: bytes) -> bytes:
    return binascii.a2b_qp(text.replace(b"%", b"=3D") if b"%" in text else text)


def gathered(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The fields of a form; one that is repeated becomes a list."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name not in fields:
            fields[name] = value
        elif isinstance(fields[name], list):
            fields[name].append(value)
        else:
            fields[name] = [fields[name], value]
    return fields
