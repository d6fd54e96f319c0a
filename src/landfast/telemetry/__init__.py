"""Logs: one line per fact, as `key=value` pairs, with no secret and no body in them."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Collection, Iterable
from typing import Any, TextIO

from landfast.domain.redaction import HIDDEN, USUAL_ONLY, Redaction

MOST_CAUSES = 10
"""Of one error: more would be a loop of its own making."""

_log = logging.getLogger("landfast")
_DETAIL = "landfast_detail"

_IN_OTHERS_WORDS = "error"
"""The fact that quotes what another part said, which may have quoted a field of a body."""


class _Shown:
    """What of the facts is not shown, in this process."""

    by: Redaction = USUAL_ONLY
    hides_facts = False
    """Whether the settings name any that a line could have."""


def redact(names: Collection[str]) -> None:
    """From now on, no line of this process and no trace shows what these settings hide."""
    _Shown.by, _Shown.hides_facts = Redaction(names), bool(names)


def shown(name: str, value: Any) -> Any:
    """A fact as it may be shown."""
    if _Shown.by.hides(name):
        return HIDDEN
    return _Shown.by.text(str(value)) if name == _IN_OTHERS_WORDS else value


class Lines:
    """What one record says: one line or several, each a name with its facts. They are written out where somebody wants
    them, as text or as JSON."""

    __slots__ = ("_text", "_told", "_trace")

    def __init__(self, told: list[tuple[str, dict[str, Any]]], trace: str = "") -> None:
        self._told = told
        self._trace = trace
        self._text = ""

    def __str__(self) -> str:
        if not self._text:  # for the first handler of several that want it
            lines = [_line(what, facts) for what, facts in self._told]
            self._text = "\n".join([*lines, self._trace] if self._trace else lines)
        return self._text

    def facts(self) -> list[tuple[str, dict[str, Any]]]:
        more = {"trace": self._trace} if self._trace else {}
        return [(what, _shown(facts) | more) for what, facts in self._told]


def lines_of(record: logging.LogRecord) -> Lines | None:
    """What it says, if it is one of ours."""
    args = record.args
    return args[0] if isinstance(args, tuple) and len(args) == 1 and isinstance(args[0], Lines) else None


def info(what: str, /, **facts: Any) -> None:
    if _log.isEnabledFor(logging.INFO):
        _log.info("%s", Lines([(what, facts)]))


def info_each(what: str, facts: Iterable[dict[str, Any]], /) -> None:
    """A line for each, in one record: its message has several lines. Nobody looks at the facts where none is wanted."""
    if _log.isEnabledFor(logging.INFO) and (told := [(what, each) for each in facts]):
        _log.info("%s", Lines(told))


def warn(what: str, /, **facts: Any) -> None:
    _log.warning("%s", Lines([(what, facts)]))


def warn_in_detail(what: str, detail: Callable[[], str] | None, /, **facts: Any) -> None:
    """`detail` is for a person at a terminal, and is asked for nowhere else: it may hold what a sender sent."""
    _log.warning("%s", Lines([(what, facts)]), extra=None if detail is None else {_DETAIL: detail})


def detail_of(record: logging.LogRecord) -> str:
    """What the record has for a person's eyes, indented; empty for nearly all."""
    ask: Callable[[], str] | None = getattr(record, _DETAIL, None)
    return "" if ask is None else "\n".join(f"    {_printable(line)}" for line in _Shown.by.text(ask()).splitlines())


def error(what: str, /, *, trace: BaseException | None = None, **facts: Any) -> None:
    _log.error("%s", Lines([(what, facts)], "" if trace is None else _frames(trace)))


def _frames(error: BaseException) -> str:
    """Where it was raised, and of which class; with its causes, and without a message, which may hold what a sender
    sent. So it is not given to `logging` as it is, either. Never raises: the class may be a user's."""
    told: list[str] = []
    seen: set[int] = set()
    following: BaseException | None = error
    try:
        while following is not None and id(following) not in seen and len(told) < MOST_CAUSES:
            seen.add(id(following))
            frames = "".join(traceback.format_tb(following.__traceback__))
            told.append(f"{frames}{type(following).__name__}")
            following = following.__cause__ or following.__context__
    except BaseException:  # noqa: BLE001 - SystemExit out of a property must not end the process
        told.append("(more of this error cannot be printed)")
    return "\ncaused by\n".join(told)


def _line(what: str, facts: dict[str, Any]) -> str:
    return " ".join([what, *[f"{name}={_value(value)}" for name, value in _shown(facts).items()]])


def _shown(facts: dict[str, Any]) -> dict[str, Any]:
    if not _Shown.hides_facts and _IN_OTHERS_WORDS not in facts:  # as of nearly all: one is written for each event
        return facts
    return {name: shown(name, value) for name, value in facts.items()}


def _value(value: Any) -> str:
    text = value.hex() if isinstance(value, bytes) else str(value)
    safe = _printable(text)
    if " " not in safe and '"' not in safe and safe:
        return safe
    quotable = safe.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quotable}"'


def _printable(text: str) -> str:
    """Whatever came from outside could forge a line or move a terminal's cursor: keep to printable characters."""
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def formatter(line: str, stream: TextIO) -> logging.Formatter:
    """For lines that go there. A person at a terminal is shown more than a file: where in the user's code a handler
    failed, and with what message. A file may be read by whoever must not see what a sender sent."""
    return _TerminalFormatter(line) if stream.isatty() else LineFormatter(line)


class LineFormatter(logging.Formatter):
    """Each line of a record with its time, which is UTC and says so, as everywhere in Landfast."""

    _second = -1
    _written = ""

    def format(self, record: logging.LogRecord) -> str:
        whole = super().format(record)
        message = record.message
        if "\n" not in message:
            return whole
        before, _, after = whole.partition(message)
        return "\n".join([before + line for line in message.split("\n")]) + after

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - logging's own name
        second = int(record.created)
        if second != self._second:  # written out once a second, not once a line
            self._second = second
            self._written = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(second))
        return f"{self._written}.{int(record.msecs):03}Z"


class _TerminalFormatter(LineFormatter):
    """With what the record has for a person's eyes below it."""

    def format(self, record: logging.LogRecord) -> str:
        detail = detail_of(record)
        return f"{super().format(record)}\n{detail}" if detail else super().format(record)
