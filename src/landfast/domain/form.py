"""A form: its fields, as bytes and as text. A stranger's too, so that no form takes long."""

from __future__ import annotations

import binascii
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

MOST_FORM_FIELDS = 1_000
"""No sender has a hundred; splitting a body of a million `&` is work for nothing."""

MOST_STRAY_SIGNS = 1_000
"""Of a form: `%` that begin no escape, and `=` in one field of many escapes. No sender writes that. They take a slow
reader, 0.3 ms for so many."""

MOST_BROKEN_TEXT = 64 * 1024
"""Bytes of the fields of a form that are not UTF-8. Those take twenty times as long to read: 0.4 ms for so many."""

_PLUS_AS_SPACE = bytes.maketrans(b"+", b" ")
_PERCENT_AS_EQUALS = bytes.maketrans(b"%", b"=")
_HEXADECIMAL = bytes.maketrans(b"0123456789abcdefABCDEF", b"0" * 22)


def form_pairs(body: bytes) -> list[tuple[bytes, bytes]]:
    """The fields of a form, each as the bytes that it stands for: what `parse_qsl` finds, without its half a second for
    a mebibyte of escapes. ValueError for more fields, or more of what is not escaped, than any sender sends."""
    body = body.translate(_PLUS_AS_SPACE) if b"+" in body else body
    fields = body.split(b"&", MOST_FORM_FIELDS)  # to count them first would take longer
    if len(fields) > MOST_FORM_FIELDS:
        raise ValueError("the form has more fields than any sender sends")
    split = [field.partition(b"=") for field in fields if field]
    unescape = _unquoted if body.count(b"%") <= MOST_STRAY_SIGNS else _unescaped
    return [(unescape(name), unescape(value)) for name, _, value in split]


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


def _unquoted(text: bytes) -> bytes:
    return unquote_to_bytes(text) if b"%" in text else text


def _unescaped(text: bytes) -> bytes:
    """Mail has the same escapes behind another sign, and for those the interpreter has a fast reader. It is for texts
    that are escaped as they should be, others get a ValueError."""
    if b"%" not in text:
        return text
    around = text.split(b"=", MOST_STRAY_SIGNS)
    if len(around) > MOST_STRAY_SIGNS:
        raise ValueError("the form is not escaped as one")
    text = b"%3D".join(around)
    escapes = text.count(b"%")
    # Where there are more of them than there is room for, they need not be looked at.
    read = text if 3 * escapes > len(text) else binascii.a2b_qp(text.translate(_PERCENT_AS_EQUALS))
    if b"\n" in text or b"\r" in text:
        is_well_escaped = text.translate(_HEXADECIMAL).count(b"%00") == escapes
    else:  # an escape is three bytes for one; what is none is one or two for one, but for those at a line's end
        is_well_escaped = len(text) - len(read) == 2 * escapes
    if not is_well_escaped:
        raise ValueError("the form is not escaped as one")
    return read


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
