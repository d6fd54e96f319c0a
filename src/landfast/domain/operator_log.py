"""The operator log: who changed what by hand, when and why. `landfast audit` shows and checks it.

Its lines are a chain: the digest of each is a MAC over its content and the digest of the line before. Whoever has no
key can add, change, remove or swap nothing without being found out. Every change leaves two lines, one before it is
made and one after: a line that was asked and has no end is a change that may have happened, in whole or in part.

It has nothing to do with `domain.audit`, by which `landfast proof` compares events with their receipts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from landfast.domain.audit import Mark
from landfast.domain.ids import InboxId, receipt_digest
from landfast.domain.mac import TAG_BYTES, Mac
from landfast.domain.micros import micros
from landfast.domain.text import storable

BEGINNING = bytes(TAG_BYTES)
"""What stands in the place of a digest before the first line."""

KEY_NAME = b"operator log"
"""What the key of a sealed inbox is sealed about."""


class Action(StrEnum):
    """What operators do that is worth a line. A look changes nothing, and leaves none."""

    REPLAY = "replay"
    FORCE = "force"
    """A replay that runs handlers again which are done: the dedup is bypassed."""
    RETRY = "retry"
    DISCARD = "discard"
    HOLD = "hold"
    """What waits is kept from being processed until somebody decides."""
    ADMIT = "admit"
    SKIP = "skip"
    """A lane goes on without its dead letter."""
    PAUSE = "pause"
    RESUME = "resume"
    RETRY_EFFECTS = "retry-effects"
    SKIP_EFFECT = "skip-effect"
    """The steps after a dead one go on without it."""
    ERASE = "erase"
    RETENTION = "retention"
    COMPACT = "compact"
    RECOVER = "recover"
    IMPORT = "import"
    RECONCILE = "reconcile"
    SILENCE = "silence"
    SECRETS = "secrets"
    RELOAD = "reload"
    """Somebody had a server read its settings anew."""
    SEAL = "seal"
    TOKEN = "token"  # noqa: S105 - what is done, and no token
    """A token of the admin API was made or revoked."""
    SIGN_IN = "sign-in"
    """Somebody signed in to the dashboard at an identity provider."""
    SIGN_OUT = "sign-out"
    """A session of somebody who did was ended, by whoever has it or by an admin."""
    CANCEL = "cancel"
    """A replay that runs as a job was ended by somebody."""
    ACCEPT = "accept"
    """The log did not fit what was known of it elsewhere, and somebody says why that is right."""


class Step(StrEnum):
    ASKED = "asked"
    """Written before anything is changed."""
    DONE = "done"
    FAILED = "failed"
    """It raised, or was interrupted; what it had changed until then stays changed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a line says, before it has its place."""

    action: str
    step: Step
    who: str
    host: str
    why: str
    what: str
    """JSON: what was asked for, or what came of it."""
    of: int | None = None
    """Of an end: the number of the line that asked."""

    def storable(self) -> Entry:
        """As a database takes it, and so as its digest is made of."""
        texts = {name: storable(getattr(self, name)) for name in ("who", "host", "why", "what")}
        return replace(self, **texts)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Line:
    seq: int
    """1, 2, 3, ...: without a gap."""
    at: datetime
    entry: Entry
    digest: bytes


@dataclass(frozen=True, slots=True)
class End:
    """Where the log ends. `tag` proves it: without the key nobody makes one for another place."""

    seq: int
    digest: bytes
    tag: bytes


def mac_of(key: bytes) -> Mac:
    return Mac(key, purpose=b"operator log")


def digest_of(mac: Mac, before: bytes, seq: int, at: datetime, entry: Entry) -> bytes:
    texts = (entry.action, entry.step, entry.who, entry.host, entry.why, entry.what)
    numbers = (seq, micros(at), -1 if entry.of is None else entry.of)
    return mac.tag(
        before,
        *(number.to_bytes(8, "big", signed=True) for number in numbers),
        *(text.encode("utf-8", "surrogatepass") for text in texts),
    )


def line_after(mac: Mac, end: End | None, at: datetime, entry: Entry) -> Line:
    """The next line of a log that ends there."""
    seq, before = (1, BEGINNING) if end is None else (end.seq + 1, end.digest)
    return Line(seq, at, entry, digest_of(mac, before, seq, at, entry))


def end_at(mac: Mac, line: Line) -> End:
    return End(line.seq, line.digest, _end_tag(mac, line.seq, line.digest))


def mark_of(line: Line | End) -> Mark:
    """What the ledger keeps of a line: its number, and enough of its digest."""
    return Mark(line.seq, line.digest[:8])


def ledger_name(inbox: InboxId) -> InboxId:
    """Under this name the ledger keeps the marks of an inbox's operator log, apart from those of its proofs."""
    return InboxId(receipt_digest(inbox, "landfast", "operator log"))


class Chain:
    """Follows the lines, oldest first, and says what is wrong with the first one that does not fit."""

    def __init__(self, key: bytes, end: End | None) -> None:
        self._mac = mac_of(key)
        self._end = end
        self._digest = BEGINNING
        self.seq = 0
        """The last line that fitted."""

    def follow(self, lines: Iterable[Line]) -> str:
        """A sentence about the first bad line; empty while all is well."""
        return next(self._problems(lines), "")

    def ended(self) -> str:
        """The same about the end, once every line was followed."""
        if self._end is None:
            return "" if not self.seq else "the end of the log is missing, and there are lines"
        if self._end.tag != _end_tag(self._mac, self._end.seq, self._end.digest):
            return "the end of the log was changed"
        if self.seq < self._end.seq:
            return f"line {self.seq + 1} is missing: the log goes on to line {self._end.seq}, and was cut"
        return "" if self._digest == self._end.digest else f"line {self.seq} is not the one that the log ends with"

    def _problems(self, lines: Iterable[Line]) -> Iterator[str]:
        for line in lines:
            if line.seq != self.seq + 1:
                yield f"line {self.seq + 1} is missing"
            elif line.digest != digest_of(self._mac, self._digest, line.seq, line.at, line.entry):
                yield f"line {line.seq} was changed, put there, or moved"
            self.seq, self._digest = line.seq, line.digest


def _end_tag(mac: Mac, seq: int, digest: bytes) -> bytes:
    return mac.tag(b"end", seq.to_bytes(8), digest)
