"""As much of YAML as deploy/ uses: maps and lists by indentation, lists in brackets, anchors and merges. Whatever
else is in a file is an error here, so that what is read is what a real parser reads."""

from __future__ import annotations

import json
import re
from typing import Any

_PAIR = re.compile(r"^([\w.</-]+):(?: +(.*))?$")


def read_all(text: str) -> list[Any]:
    """The documents of a file."""
    return [read(part) for part in re.split(r"^---$", text, flags=re.MULTILINE)]


def read(text: str) -> Any:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found, rest = _block([(len(line) - len(line.lstrip()), line.strip()) for line in lines], 0, {})
    assert not rest, f"not read: {rest[0][1]}"
    return found


Lines = list[tuple[int, str]]


def _block(lines: Lines, indent: int, anchors: dict[str, Any]) -> tuple[Any, Lines]:
    if lines and lines[0][1].startswith("- "):
        items = []
        while lines and lines[0][0] == indent:
            first = lines[0][1]
            assert first.startswith("- "), first
            item, lines = _block([(indent + 2, first[2:]), *lines[1:]], indent + 2, anchors)
            items.append(item)
        return items, lines
    found: dict[str, Any] = {}
    while lines and lines[0][0] == indent:
        pair = _PAIR.match(lines[0][1])
        assert pair, f"no plain YAML: {lines[0][1]}"
        key, value, lines = pair[1], pair[2] or "", lines[1:]
        assert key not in found, f"{key} stands twice"
        if value and not value.startswith("&"):
            read_value = _value(value, anchors)
        elif lines and lines[0][0] > indent:
            read_value, lines = _block(lines, lines[0][0], anchors)
        else:
            read_value = None
        if value.startswith("&"):
            anchors[value[1:]] = read_value
        found |= read_value if key == "<<" else {key: read_value}
    return found, lines


def _value(text: str, anchors: dict[str, Any]) -> Any:
    if text.startswith("*"):
        return anchors[text[1:]]
    if text.startswith("["):
        assert text.endswith("]"), text
        items = re.findall(r'"[^"]*"|[^,\s"][^,"]*', text[1:-1])
        return [_value(item.strip(), anchors) for item in items]
    if text.startswith('"'):
        return json.loads(text)
    assert not re.search(r"[{}&*!|>'%@`]|: | #", text), f"quote it: {text}"
    return {"true": True, "false": False}.get(text, text)
