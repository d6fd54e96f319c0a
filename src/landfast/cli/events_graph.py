"""`landfast events show EVENT --graph`, and `--svg FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from landfast.app import Inbox
from landfast.cli.options import run
from landfast.cli.output import safe, say, say_json
from landfast.domain.ids import receipt_digest
from landfast.domain.summary import EventSummary
from landfast.operations.effect_graph import Node, runs_of, tree
from landfast.operations.effects import NODES_AT_MOST
from landfast.operations.graph_svg import svg as drawn


def show_graph(inbox: Inbox, event: EventSummary, *, svg: Path | None, as_json: bool) -> int:
    runs = runs_of(run(_rows(inbox, event)))
    if svg is not None:
        svg.write_text(drawn(next(iter(runs.values()), [])), encoding="utf-8")
    if as_json:
        say_json([{"run": number, "nodes": [_fields(node) for node in nodes]} for number, nodes in runs.items()])
        return 0
    if not runs:
        say("it has staged no effects")
    for number, nodes in runs.items():
        say(f"run {number}")
        for line in tree(nodes):
            say(f"  {safe(line)}")
    if svg is not None:
        say(f"drawn: {svg}")
    return 0


def _fields(node: Node) -> dict[str, Any]:
    return {
        "key": node.row["key"],
        "label": node.label,
        "state": node.state,
        "attempts": node.row["attempts"],
        "after": [each.label for each in node.before],
        "blocked_by": node.blocked_by,
        "error": node.row["error"],
    }


async def _rows(inbox: Inbox, event: EventSummary) -> Sequence[dict[str, Any]]:
    async with inbox.stores() as stores:
        digest = receipt_digest(stores.identity, event.source, event.key)
        return await stores.ledger.list(digest=digest, limit=NODES_AT_MOST)
