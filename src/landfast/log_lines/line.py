"""What a line of the log is, and which fields there are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

INFO, WARNING, ERROR = "info", "warning", "error"

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "event": "the id of an event, in hexadecimal digits, as `landfast events show` takes it",
        "source": "the source that it came from; empty if the request named none of ours",
        "type": "the event's type",
        "key": "the dedup key of an event, or the key of an effect",
        "handler": "the handler's name",
        "database": "an alias of Django's DATABASES",
        "ledger": "the alias that the ledger is on",
        "effect": "the effect's name",
        "arrival": "what is waited for: source, type and entity",
        "attempt": "which attempt it was, and how many there are at most if that is limited",
        "job": "the name of a replay, as `landfast replay show` takes it",
        "state": "the state that it is in now",
        "signal": "what the inbox was told to do with the event",
        "error": "what went wrong, as the part that failed says it",
        "reason": "why Landfast decided so",
        "cause": "a word for the reason that stays the same",
        "then": "what happens next",
        "fix": "what to do about it",
        "status": "the HTTP status of the answer",
        "path": "the path that was asked for, where no source of ours is there",
        "count": "how many",
        "at_most": "how many there may be",
        "others": "how many such lines were left out since the last one",
        "waiting": "how many records wait to be brought into the inbox",
        "seconds": "how long",
        "ms": "how long, in milliseconds",
        "retry_seconds": "after how many seconds it is tried again",
        "events": "how many events",
        "effects": "how many effects",
        "bodies": "how many events whose headers and body went",
        "receipts": "how many receipts",
        "bytes_freed": "how many bytes were given back to the disk",
        "held_back": "how many stay because they are not proven yet",
        "unproven": "how many are done and lack a receipt",
        "store": "which part: inbox, ledger or journal",
        "server": "the address of a cache or a broker, without its password",
        "secret": "the name of a secret, never the secret",
        "address": "an address on the web",
        "variant": "the id of the event that the other body became",
        "occurred_at": "when the sender says that it happened",
        "file": "the name of a file in the spool's folder",
        "at": "where in the file, in bytes from its start",
        "bytes": "how large it is",
        "kept": "where the bytes are kept",
        "subject": "a subject of the journal's stream",
        "stream": "the name of the journal's stream",
        "replicas": "how many servers hold the stream",
        "role": "intake, worker, drainer or suspects",
        "pid": "the id of a process",
        "code": "how a process ended: its exit code, or minus the number of the signal that killed it",
        "host": "the machine's name",
        "worker": "the id of a worker",
        "loop": "which loop of a worker",
        "breaker": "what the breaker protects: ledger, handler:NAME or dependency:NAME",
        "dependency": "what handlers and effects use, by its name",
        "where": "where a handler stands, innermost call last",
        "folder": "the folder that it is about",
        "inbox": "the id of the inbox",
        "listed": "how many events the provider lists",
        "missing": "how many of them never arrived",
        "taken": "how many of those are in the inbox now",
        "action": "what an operator did",
        "line": "the number of a line of the operator log",
        "digest": "the digest of a line of the operator log",
        "alert": "the name of an alert, and what it is about",
        "sink": "where alerts are sent, by its name in the settings",
        "notice": "the id of a notice, the same at every try",
        "runbook": "the page about an alert",
        "hook": "the name of a function of `on_dead`",
        "epoch": "how often this inbox was restored or emptied, as far as is known",
    }
)


class Line(NamedTuple):
    levels: tuple[str, ...]
    fields: tuple[str, ...]
    meaning: str
    fix: str = ""
    """Empty where there is nothing to do."""


def line(levels: str, fields: str, meaning: str, fix: str = "") -> Line:
    return Line(tuple(levels.split()), tuple(fields.split()), meaning, fix)
