"""The bytes of a body as people can read them, and as they are."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

from landfast.admin.pages.words import visible

SHOWN_BYTES = 256 * 1024
"""Of a body on a page; the JSON of the page has all of it."""

PRETTY_CHARACTERS = 1024 * 1024
"""Of JSON on lines. Deep inside brackets each line begins with as many blanks as it is deep: 200 kB of a hostile body
would become 180 MB. Beyond it the exact bytes are shown alone."""

_INDENTED = json.JSONEncoder(indent=2, ensure_ascii=False)

HEX_WIDTH = 16
HEX_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class BodyView:
    size: int
    pretty: str
    """JSON on lines; empty where it is none."""
    exact: str
    """Every byte, those that cannot be seen as escapes; or a table of hexadecimal digits."""
    is_text: bool
    is_cut: bool


def body_view(body: str | None, body_base64: str | None) -> BodyView:
    raw = body.encode("utf-8", "surrogatepass") if body is not None else base64.b64decode(body_base64 or "")
    if body is None:
        return BodyView(len(raw), "", _hexadecimal(raw[:HEX_BYTES]), is_text=False, is_cut=len(raw) > HEX_BYTES)
    is_cut = len(body) > SHOWN_BYTES
    return BodyView(
        len(raw), "" if is_cut else _pretty(body), visible(body[:SHOWN_BYTES], lines=True), is_text=True, is_cut=is_cut
    )


def _pretty(text: str) -> str:
    pieces, size = [], 0
    try:
        decoded = json.loads(text)
        if not isinstance(decoded, dict | list):
            return ""
        for piece in _INDENTED.iterencode(decoded):
            pieces.append(piece)
            size += len(piece)
            if size > PRETTY_CHARACTERS:
                return ""
    except (ValueError, RecursionError):
        return ""
    return visible("".join(pieces), lines=True)


def _hexadecimal(raw: bytes) -> str:
    """Sixteen bytes a line: where they stand, their digits, and what they would be as text."""
    lines = []
    for at in range(0, len(raw), HEX_WIDTH):
        chunk = raw[at : at + HEX_WIDTH]
        digits = " ".join(f"{byte:02x}" for byte in chunk)
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in chunk)
        lines.append(f"{at:08x}  {digits:<{HEX_WIDTH * 3 - 1}}  {text}")
    return "\n".join(lines)
