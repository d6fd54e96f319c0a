"""Effects, and the graph of those of one event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, EventName, Rows
from landfast.admin.questions.event import found_event
from landfast.domain.effect import EffectState
from landfast.domain.ids import receipt_digest
from landfast.operations.effect_graph import Node, runs_of
from landfast.operations.effects import NODES_AT_MOST, listed
from landfast.operations.graph_svg import svg
from landfast.operations.ledger_side import readable_effect
from landfast.recovery.redacted import redacted_row


class EffectsAsked(Asked):
    state: EffectState | None = None
    limit: Rows = 50


class Effects(Answered):
    effects: Sequence[Mapping[str, Any]]
    """Newest first, as the ledger lists them; `told` is the state in words, `after` the keys of those before it."""
    counts: Mapping[str, int]
    """By state."""


class GraphAsked(Asked):
    event: EventName


class GraphNode(Answered):
    key: str
    label: str
    state: str
    told: str
    attempts: int
    layer: int
    """0 for one that was staged after nothing."""
    after: Sequence[str]
    """Labels."""
    blocked_by: Sequence[str]
    error: str


class GraphRun(Answered):
    run: int
    nodes: Sequence[GraphNode]
    svg: str


class Graph(Answered):
    runs: Sequence[GraphRun]
    """The newest first."""


async def effects(desk: Desk, asked: EffectsAsked) -> Effects:
    """Effects, newest first."""
    stores = await desk.stores()
    rows = await listed(stores.ledger, stores.identity, state=asked.state, limit=asked.limit)
    counts = await stores.ledger.counts()
    return Effects(
        effects=[readable_effect(redacted_row(row, desk.redaction)) for row in rows],
        counts={str(state): count for state, count in counts.items()},
    )


async def graph(desk: Desk, asked: GraphAsked) -> Graph:
    """The effects of an event as the graph that they are."""
    stores = await desk.stores()
    event = (await found_event(desk, asked.event)).summary
    digest = receipt_digest(stores.identity, event.source, event.key)
    runs = runs_of(await stores.ledger.list(digest=digest, limit=NODES_AT_MOST))
    return Graph(
        runs=[
            GraphRun(run=number, nodes=[_node(node) for node in nodes], svg=svg(nodes))
            for number, nodes in runs.items()
        ]
    )


def _node(node: Node) -> GraphNode:
    return GraphNode(
        key=node.row["key"],
        label=node.label,
        state=node.state,
        told=node.told(),
        attempts=node.row["attempts"],
        layer=node.layer,
        after=[each.label for each in node.before],
        blocked_by=node.blocked_by,
        error=node.row["error"],
    )
