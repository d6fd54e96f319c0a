"""What Landfast's tables in a ledger must look like, told in sentences when they do not."""

from __future__ import annotations

from collections.abc import Mapping

COLUMNS: Mapping[str, frozenset[str]] = {
    "landfast_receipt": frozenset({"digest", "handler", "run", "outcome", "result", "created_at"}),
    "landfast_effect": frozenset(
        {"seq", "key", "run", "state", "name", "arguments", "context", "digest", "handler", "token", "due_at"}
        | {"tries_count", "tries_spent", "tries_unknown", "suspect", "crashes", "error", "message", "trace"}
        | {"created_at", "done_at"}
    ),
    "landfast_guard": frozenset({"never"}),
    "landfast_never": frozenset({"id"}),
    "landfast_ledger": frozenset({"id", "name"}),
    "landfast_ledger_inbox": frozenset({"inbox", "bound_at"}),
    "landfast_audit_mark": frozenset({"inbox", "seq", "nonce"}),
    "landfast_store_key": frozenset({"id", "wrapped", "master"}),
    "landfast_erasure": frozenset({"inbox", "event_id", "digest", "erased_at", "who"}),
}

RECEIPT_KEY = frozenset({"digest", "handler", "run"})


def missing(found: Mapping[str, frozenset[str]]) -> list[str]:
    """One sentence for each table or column that is not there."""
    sentences = []
    for table, expected in COLUMNS.items():
        columns = found.get(table, frozenset())
        if not columns:
            sentences.append(f"ledger: the table {table} is missing; run landfast migrate")
            continue
        sentences += [f"ledger: {table} has no column {name}; undo that change" for name in sorted(expected - columns)]
    return sentences


def added(found: Mapping[str, frozenset[str]]) -> list[str]:
    """One sentence for each column that somebody else has put there."""
    return [
        f"ledger: {table} has a column {name} that is not Landfast's; drop it"
        for table, expected in COLUMNS.items()
        for name in sorted(found.get(table, frozenset()) - expected)
    ]


def key_problems(key: frozenset[str]) -> list[str]:
    if key == RECEIPT_KEY:
        return []
    return [
        "ledger: landfast_receipt lost its primary key (digest, handler, run), so nothing keeps twins apart; add it"
    ]
