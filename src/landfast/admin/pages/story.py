"""What happened to an event, as lines of a timeline: pure, from its history to words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from landfast.admin.charts.strip import Moment
from landfast.admin.pages.reasons import reason_words
from landfast.admin.pages.words import duration
from landfast.domain.outcome import Attempt
from landfast.domain.summary import HistoryLine

ALIKE_AT_LEAST = 3
"""Failures in a row with the same error, of which the middle ones are folded into one line."""

CAME_AGAIN = "Came again"

SIGNALS = {
    "release": "given back, untried",
    "postpone": "given back for later; no attempt is counted",
    "retry": "tried again later",
    "no_handler": "no handler takes it; it waits for one",
    "dismiss": "done without a handler, as its source says",
    "refuse": "dead before any handler saw it",
    "pause": "paused: what would process it is switched off",
    "park": "parked: its lifecycle does not allow it yet",
    "finish": "done: every handler has its receipt",
    "bury": "a dead letter",
    "queue": "queued behind an earlier event of its entity",
    "requeue": "a handler takes it now",
    "resume": "what paused it was resumed",
    "stir": "its entity has moved",
    "hold": "held by an operator, until somebody decides",
    "admit": "let in by an operator",
    "discard": "discarded by an operator: never to be processed",
    "erase": "erased by an operator",
    "hasten": "tried now, because an operator said so",
    "close": "closed by an operator",
    "skip": "its lane goes on without it",
    "replay": "replayed: a new run begins",
    "recover": "run again: the ledger had lost its receipts",
}

GOOD = frozenset({"finish", "dismiss", "admit", "resume", "requeue", "stir"})
BAD = frozenset({"bury", "refuse"})
HELD = frozenset({"hold", "pause", "park", "queue", "no_handler", "postpone"})
BY_HAND = frozenset({"replay", "recover", "hasten", "close", "discard", "erase", "skip"})

FAILED = frozenset({"retry", "dead", "postpone"})
"""Outcomes of an attempt that did not go well."""


@dataclass(frozen=True, slots=True)
class Line:
    at: datetime
    tone: str
    strong: str
    """How it begins: the handler, or what was done."""
    text: str = ""
    code: str = ""
    """The class of an error."""
    message: str = ""
    trace: str = ""
    folded: tuple[Line, ...] = ()
    """Lines that say the same."""
    is_to_the_second: bool = False
    """Its time is no more exact."""


def story(
    received_at: datetime,
    redelivered: int,
    history: Sequence[HistoryLine],
    *,
    is_proved: bool = True,
    came_again: Sequence[datetime] = (),
) -> list[Line]:
    """Oldest first."""
    came = Line(received_at, "ok", "Received", "proved, stored and answered with 200" if is_proved else "stored")
    lines = [came]
    if redelivered and not came_again:  # counted by an earlier Landfast, which kept no times
        times = "once more" if redelivered == 1 else f"{redelivered:,} times more"
        lines.append(Line(received_at, "info", f"Came {times}", "a known key: answered with 200, stored once"))
    words = "a known key: answered with 200, stored once"
    again = [Line(at, "info", CAME_AGAIN, words, is_to_the_second=True) for at in came_again]
    told = [line for each in history for line in _lines(each)]
    return list(_folded([*lines, *sorted([*told, *again], key=lambda line: line.at)]))


def moments(lines: Sequence[Line]) -> list[Moment]:
    """The same for the strip, with nothing folded."""
    flat = [each for line in lines for each in (line.folded or (line,))]
    return [Moment(line.at, line.tone, f"{line.strong} {line.code or line.text}".strip()) for line in flat]


def _lines(line: HistoryLine) -> Iterator[Line]:
    for attempt in line.attempts:
        yield _attempt(line, attempt)
    words = SIGNALS.get(line.signal, str(line.signal))
    is_told = line.signal in {"retry", "finish"} and line.attempts
    if is_told and not line.who and line.signal == "retry":
        return
    by = f", {line.who}" if line.who else ""
    why = f" ({reason_words(line.reason)})" if line.reason and line.signal != "hold" else ""
    run = f"Run {line.run}: " if line.run > 1 or line.signal in BY_HAND else ""
    yield Line(line.at, _tone(line.signal), f"{run}{words}"[:1].upper() + f"{run}{words}"[1:], f"{why}{by}".strip(" ,"))


def _attempt(line: HistoryLine, attempt: Attempt) -> Line:
    if not attempt.handler and not attempt.number:  # an operator's reason, and no attempt of anybody
        return Line(line.at, "idle", "Why", attempt.message)
    took = duration(attempt.milliseconds / 1000)
    late = ", after a later event of its entity" if attempt.is_late else ""
    if attempt.outcome in FAILED or attempt.error:
        ended = {"dead": "gave up", "postpone": "was put off"}.get(attempt.outcome, "failed")
        return Line(
            line.at,
            "bad" if attempt.outcome != "postpone" else "held",
            attempt.handler,
            f"attempt {attempt.number} {ended} after {took}{late}",
            code=attempt.error,
            message=attempt.message,
            trace=attempt.trace,
        )
    words = {
        "done": f"done in {took}, committed with its receipt",
        "no_writes": f"done in {took}; it wrote nothing",
        "superseded": "skipped: a later event of its entity was processed",
        "skipped": "skipped: it has its receipt already",
    }.get(attempt.outcome, attempt.outcome)
    return Line(line.at, "ok", attempt.handler, words + late)


def _tone(signal: str) -> str:
    if signal in GOOD:
        return "ok"
    if signal in BAD:
        return "bad"
    return "held" if signal in HELD else "info" if signal in BY_HAND else "idle"


def _folded(lines: Sequence[Line]) -> Iterator[Line]:
    """A failure that repeats itself is told once, then counted, then told as it ended."""
    place = 0
    while place < len(lines):
        end = place + 1
        while end < len(lines) and _is_alike(lines[place], lines[end]):
            end += 1
        middle = tuple(lines[place + 1 : end - 1])
        yield lines[place]
        if end - place > ALIKE_AT_LEAST:
            alike = "more times" if lines[place].strong == CAME_AGAIN else "more attempts, the same error"
            words = f"{len(middle):,} {alike}"
            yield replace(middle[0], strong=lines[place].strong, text=words, folded=middle, trace="")
        else:
            yield from middle
        if end - place > 1:
            yield lines[end - 1]
        place = end


def _is_alike(one: Line, other: Line) -> bool:
    return (bool(one.code) or one.strong == CAME_AGAIN) and (one.strong, one.code, one.message) == (
        other.strong,
        other.code,
        other.message,
    )


@dataclass(frozen=True, slots=True)
class TraceLine:
    text: str
    kind: str
    """mine: of the user's code; far: of a library; error: what was raised; empty for the rest."""


_FILE = re.compile(r'(File ")[^"]*?((?:[^"/]+/)?[^"/]+")')
"""The name of a file, with the folder that it is in."""


def trace_lines(trace: str, line: str) -> list[TraceLine]:
    """A stack trace with the line marked in which the user's own code failed: `shop.py:41`."""
    name, _, number = line.rpartition(":")
    found, is_mine = [], False
    for text in trace.splitlines():
        is_frame = text.lstrip().startswith("File ")
        if is_frame:
            text = _FILE.sub(r"\1\2", text)  # noqa: PLW2901 - without the folders, which only differ between machines
            is_mine = bool(name) and f'{name}"' in text and f"line {number}," in text
            found.append(TraceLine(text, "mine" if is_mine else "far"))
        elif text[:1].isspace():
            found.append(TraceLine(text, "mine" if is_mine else "far" if found and found[-1].kind == "far" else ""))
        else:
            found.append(TraceLine(text, "error" if ":" in text and not text.startswith("Traceback") else "far"))
    return found
