"""Values as text of SQL, for statements that are said in one text with others: no driver binds values there.

Every string is written with E'': it means the same whatever `standard_conforming_strings` is set to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

Value = bytes | str | int | Sequence[object] | None

_PLACEHOLDER = re.compile(r"\$(\d+)")
_PLAIN = re.compile(r"[\w.: -]*\Z", re.ASCII)
_NAMES = 500


def literal(value: Value) -> str:
    """bytes, text and numbers, and lists of them. A tuple is a place in a table, as asyncpg reads one."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return _quoted("{" + ",".join(map(_element, value)) + "}")
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, bytes):
        return f"E'\\\\x{value.hex()}'"
    return _quoted(str(value))


def filled(query: str, values: Sequence[Value]) -> str:
    """A statement of our own, which has no `$` but those of its placeholders, with the values in their places."""
    return _PLACEHOLDER.sub(lambda found: literal(values[int(found[1]) - 1]), query)


def _element(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, tuple):
        return f'"({value[0]:d},{value[1]:d})"'
    return _text_element(str(value))


@lru_cache(_NAMES)
def _text_element(text: str) -> str:
    return f'"{text}"' if _PLAIN.match(text) else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _quoted(text: str) -> str:
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
