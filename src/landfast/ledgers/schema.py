"""What Landfast's tables in a ledger must look like, told in sentences when they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Names = Callable[[str], str]
"""What a table is called in a ledger, by its noun."""

Tables = Mapping[str, frozenset[str]]
"""The columns of each, by its noun."""

COLUMNS: Tables = {
    "receipt": frozenset({"digest", "handler", "run", "outcome", "result", "created_at"}),
    "effect": frozenset(
        {"seq", "key", "run", "state", "name", "arguments", "context", "digest", "handler", "token", "due_at"}
        | {"tries_count", "tries_spent", "tries_unknown", "suspect", "crashes", "error", "message", "trace"}
        | {"created_at", "done_at", "starts_at", "waits", "step", "result"}
    ),
    "effect_wait": frozenset({"key", "run", "awaited"}),
    "arrival": frozenset({"key", "event", "handled_at", "moved_at"}),
    "guard": frozenset({"never"}),
    "never": frozenset({"id"}),
    "identity": frozenset({"id", "name"}),
    "inbox": frozenset({"inbox", "bound_at", "kept_to"}),
    "kept": frozenset({"digest", "inbox", "seen_at"}),
    "lane_mark": frozenset({"lane", "handler", "place", "before", "moved_at"}),
    "lane_state": frozenset({"lane", "machine", "state", "is_last", "moved_at"}),
    "audit_mark": frozenset({"inbox", "seq", "nonce"}),
    "store_key": frozenset({"id", "wrapped", "master"}),
    "erasure": frozenset({"inbox", "event_id", "digest", "erased_at", "who"}),
}

SCHEMA = "landfast_ledger"
"""On PostgreSQL, where only Landfast's tables are."""

RECEIPT_KEY = frozenset({"digest", "handler", "run"})


def in_schema(noun: str) -> str:
    return f"{SCHEMA}.{noun}"


def beside_others(noun: str) -> str:
    """Where there are no schemas, each name says whose it is."""
    return f"landfast_{_WITHOUT_SCHEMA.get(noun, noun)}"


_WITHOUT_SCHEMA = {"identity": "ledger", "inbox": "ledger_inbox", "migration": "ledger_migration"}


def missing(found: Tables, called: Names, wanted: Tables = COLUMNS) -> list[str]:
    """One sentence for each table or column that is not there."""
    sentences = []
    for noun, expected in wanted.items():
        columns, table = found.get(noun, frozenset()), called(noun)
        if not columns:
            sentences.append(f"ledger: the table {table} is missing; run landfast migrate")
            continue
        sentences += [f"ledger: {table} has no column {name}; undo that change" for name in sorted(expected - columns)]
    return sentences


def added(found: Tables, called: Names, wanted: Tables = COLUMNS) -> list[str]:
    """One sentence for each column that somebody else has put there."""
    return [
        f"ledger: {called(noun)} has a column {name} that is not Landfast's; drop it"
        for noun, expected in wanted.items()
        for name in sorted(found.get(noun, frozenset()) - expected)
    ]


def key_problems(key: frozenset[str], called: Names) -> list[str]:
    if key == RECEIPT_KEY:
        return []
    return [
        f"ledger: {called('receipt')} lost its primary key (digest, handler, run), so nothing keeps twins apart; add it"
    ]


def not_moved(place: str) -> list[str]:
    """The one sentence about a ledger that an older version has made in a schema of the user's."""
    return [f"ledger: its tables are still in the schema {place}; run landfast migrate, which moves them to {SCHEMA}"]
