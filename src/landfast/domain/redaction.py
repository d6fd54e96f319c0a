"""Which values of a body, of headers or of a text are not shown. What is stored is never changed by it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

HIDDEN = "[redacted]"

USUAL = (
    *("authorization", "proxy-authorization", "cookie", "set-cookie", "*password", "passwd", "passphrase"),
    *("*secret", "*token", "*api-key", "*apikey", "*access-key", "*private-key", "credentials"),
    *("card-number", "card.number", "pan", "cvc", "cvv", "cvv2", "cvc2", "security-code", "pin", "ssn"),
)
"""Hidden without being asked for: what proves who somebody is, and what pays."""

_CARD = re.compile(r"(?<![\w.-])(?:\d[ -]?){13,18}\d(?![\w-])")
"""What may be the number of a card: 14 to 19 digits, alone or in groups. Its check digit decides."""
_CARD_STARTS = re.compile(r"3|4|5|6|2[2-7]")
_CARD_DIGITS = (14, 15, 16, 19)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_ASSIGNED = re.compile(r"""(?<![\w.-])(?P<name>[\w.-]{0,100}\w)["']?\s*[=:]\s*""")
_VALUE = re.compile(r"""\[redacted\]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?:(?i:bearer|basic)\s+)?[^\s,;&)}\]"']+""")
"""`name=value`, `"name": "value"`, `name: value`: how messages and traces quote a field."""


class Redaction:
    """`names` are added to the usual ones. `iban` hides a field of that name wherever it stands, `card.number` one that
    stands in another, and `*` is any run of characters. Upper and lower case are the same, and so are `-` and `_`."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._own = tuple(map(_pattern, names))
        self._patterns = (*map(_pattern, USUAL), *self._own)
        self._hides = lru_cache(maxsize=4096)(self._matches)

    def hides(self, fact: str) -> bool:
        """Whether a fact in the log or in a trace was asked to be hidden. The usual names are none of ours: a fact that
        is called `secret` is the name of one."""
        return bool(self._own) and any(
            len(pattern) == 1 and pattern[0].fullmatch(_folded(fact)) for pattern in self._own
        )

    def value(self, data: Any, path: tuple[str, ...] = ()) -> Any:
        """JSON without what is hidden. Places in a list have no name."""
        if path and self._hides(path):
            return HIDDEN if data is not None else None
        if isinstance(data, Mapping):
            return {name: self.value(each, (*path, _folded(str(name)))[-_DEEPEST:]) for name, each in data.items()}
        if isinstance(data, str):
            return self._json_in(data)
        if isinstance(data, Sequence) and not isinstance(data, bytes | bytearray):
            return [self.value(each, path) for each in data]
        return data

    def headers(self, pairs: Any) -> Any:
        """Of a stored request, as `[[name, value], ...]`."""
        if not isinstance(pairs, list):
            return self.value(pairs)
        return [
            [pair[0], HIDDEN if self._hides((_folded(str(pair[0])),)) else _without_cards(str(pair[1]))]
            if isinstance(pair, list) and len(pair) == 2
            else pair
            for pair in pairs
        ]

    def body(self, body: bytes) -> bytes:
        """A body to be shown: as it is where nothing of it is hidden, and JSON or a form in another spelling where
        something is."""
        try:
            return self._body(body.decode()).encode()
        except UnicodeDecodeError:
            pass
        # Of a form or JSON in another encoding the names are ASCII, and Latin-1 keeps every other byte apart.
        text = body.decode("latin-1")
        return body if (shown := self._body(text)) == text else shown.encode("latin-1", "backslashreplace")

    def _body(self, text: str) -> str:
        try:
            data = json.loads(text, object_pairs_hook=_all_of)
            shown = self.value(data)
        except (ValueError, RecursionError):
            return self._form(text)
        return text if shown == data else json.dumps(shown, ensure_ascii=False)

    def text(self, text: str) -> str:
        """A message or a trace, in which a field may be quoted."""
        told, at = [], 0
        while found := _ASSIGNED.search(text, at):
            told.append(text[at : found.end()])
            at = found.end()
            if self._hides(_steps(found["name"])) and (value := _VALUE.match(text, at)):
                told.append(HIDDEN)
                at = value.end()
        told.append(text[at:])
        return _without_cards(_BEARER.sub(rf"\1 {HIDDEN}", "".join(told)))

    def told(self, data: Any) -> Any:
        """Data whose texts may quote a field, too: what a handler failed with, or what a target answered."""
        return self._read(self.value(data))

    def _read(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            return {name: self._read(each) for name, each in data.items()}
        if isinstance(data, list):
            return [self._read(each) for each in data]
        return self._text_or_json(data) if isinstance(data, str) else data

    def _text_or_json(self, text: str) -> str:
        if text.lstrip().startswith(("{", "[")):
            try:
                data = json.loads(text, object_pairs_hook=_all_of)
                shown = self.told(data)
            except (ValueError, RecursionError):
                return self.text(text)
            return text if shown == data else json.dumps(shown, ensure_ascii=False)
        return self.text(text)

    def _json_in(self, text: str) -> str:
        """A field that holds JSON as a text, as those of forms and of envelopes do."""
        if text.lstrip().startswith(("{", "[")):
            try:
                data = json.loads(text, object_pairs_hook=_all_of)
                shown = self.value(data)
            except (ValueError, RecursionError):
                return self.text(text)
            return text if shown == data else json.dumps(shown, ensure_ascii=False)
        return _without_cards(text)

    def _form(self, text: str) -> str:
        if "=" not in text or any(c in text for c in " \n<{"):
            return self.text(text)
        fields = parse_qsl(text, keep_blank_values=True)
        shown = [(name, HIDDEN if self._hides(_steps(name)) else self._json_in(value)) for name, value in fields]
        return text if shown == fields else "&".join(f"{name}={value}" for name, value in shown)

    def _matches(self, path: tuple[str, ...]) -> bool:
        return any(
            len(pattern) <= len(path)
            and all(step.fullmatch(name) for step, name in zip(pattern, path[-len(pattern) :], strict=True))
            for pattern in self._patterns
        )


_DEEPEST = 8
"""Names of a path that are looked at: as many as anybody writes in a setting."""


class _Again(str):
    """A name that stood in its object before: equal to itself alone."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _all_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object with each of its names, also with one that is given twice: what is not looked at would be shown."""
    data: dict[str, Any] = {}
    for name, value in pairs:
        data[_Again(name) if name in data else name] = value
    return data


def _pattern(name: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(".*".join(map(re.escape, step.split("*")))) for step in _folded(name).split("."))


def _folded(name: str) -> str:
    return name.lower().replace("_", "-")


def _steps(name: str) -> tuple[str, ...]:
    """`card[number]` and `card.number`."""
    return tuple(step for step in re.split(r"[.\[\]]+", _folded(name)) if step)[-_DEEPEST:]


def _without_cards(text: str) -> str:
    if sum(c.isdigit() for c in text[:4096]) < _CARD_DIGITS[0] and len(text) <= 4096:  # nearly always
        return text
    return _CARD.sub(lambda found: HIDDEN if _is_card(found[0]) else found[0], text)


def _is_card(text: str) -> bool:
    digits = [int(c) for c in text if c.isdigit()]
    if len(digits) not in _CARD_DIGITS or not _CARD_STARTS.match(text):
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


USUAL_ONLY = Redaction()
