"""What a proof found: findings, each with its line of the user's code, and what was run to find them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from landfast.proving.user_code import Place


class Kind(StrEnum):
    """What a handler may do wrong, as words for machines."""

    FAILS = "fails"
    OUTSIDE_WRITE = "outside_write"
    DIRECT_EFFECT = "direct_effect"
    ENDS_TRANSACTION = "ends_transaction"
    SWALLOWED_ERROR = "swallowed_error"
    CHANCE = "chance"
    CLOCK = "clock"
    MODULE_STATE = "module_state"
    ORDER = "order"
    LOST_UPDATE = "lost_update"
    LEFT_BEHIND = "left_behind"


TITLES = {
    Kind.FAILS: "it fails with this sample",
    Kind.OUTSIDE_WRITE: "a write outside of its transaction",
    Kind.DIRECT_EFFECT: "an effect before the COMMIT",
    Kind.ENDS_TRANSACTION: "it ends its transaction",
    Kind.SWALLOWED_ERROR: "it goes on after a database error",
    Kind.CHANCE: "what it writes is drawn by chance",
    Kind.CLOCK: "what it writes is read from a clock",
    Kind.MODULE_STATE: "what it writes depends on what ran before in this process",
    Kind.ORDER: "the order of arrival decides what is written",
    Kind.LOST_UPDATE: "two events at the same time lose a write",
    Kind.LEFT_BEHIND: "an attempt that was rolled back left something behind",
}

FIXES = {
    Kind.FAILS: "give it an event that it can handle: --sample FILE or --event ID; then the proof can run",
    Kind.OUTSIDE_WRITE: "write on the tx or session that the handler is given; then the receipt covers it",
    Kind.DIRECT_EFFECT: "register it with @inbox.effect and call tx.stage(...): it runs once the writes are there",
    Kind.ENDS_TRANSACTION: "leave COMMIT and ROLLBACK to Landfast; tx.savepoint() undoes a part",
    Kind.SWALLOWED_ERROR: "let the error out, so that the event is tried again, or put a savepoint around it",
    Kind.CHANCE: "derive it from the event, such as event.id, or let the database draw it as a column's default",
    Kind.CLOCK: "store event.occurred_at or event.received_at, or let the database say now()",
    Kind.MODULE_STATE: "keep it in a table: a retry, or another worker, does not have this process's memory",
    Kind.ORDER: "compare event.occurred_at with what is stored, or read the state anew from the sender",
    Kind.LOST_UPDATE: "let the database add: SET balance = balance + $1; or read with SELECT ... FOR UPDATE",
    Kind.LEFT_BEHIND: "write on the tx or session that the handler is given, and nowhere else",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake, and where it is."""

    kind: Kind
    place: Place
    """The line of the user's code."""
    what: str
    """What was seen, in a sentence."""
    handler: str = ""

    @property
    def title(self) -> str:
        return TITLES[self.kind]

    @property
    def fix(self) -> str:
        return FIXES[self.kind]

    def __str__(self) -> str:
        return f"{self.place}: {self.title}: {self.what}"

    def fields(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "kind": str(self.kind),
            "file": self.place.file,
            "line": self.place.line,
            "function": self.place.function,
            "title": self.title,
            "what": self.what,
            "fix": self.fix,
        }


@dataclass(slots=True)
class Report:
    """Of one handler, with one sample. `assert not report.findings` in a test."""

    handler: str
    source: str
    type: str
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be tried, and why."""
    statements: int = 0
    """That it sends for this event, staged effects among them."""
    runs: int = 0
    """How often it was run."""
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        return not self.findings

    def add(self, kind: Kind, place: Place, what: str) -> None:
        """One finding for each kind and line."""
        if any(each.kind is kind and each.place == place for each in self.findings):
            return
        self.findings.append(Finding(kind, place, what, self.handler))

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def has(self, *kinds: Kind) -> bool:
        return any(each.kind in kinds for each in self.findings)

    def fields(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "handler": self.handler,
            "source": self.source,
            "type": self.type,
            "holds": self.holds,
            "findings": [each.fields() for each in self.findings],
            "notes": list(self.notes),
            "statements": self.statements,
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        return "\n".join([f"{self.handler}: {len(self.findings)} findings", *map(str, self.findings)])
