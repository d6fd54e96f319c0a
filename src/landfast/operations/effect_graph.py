"""The effects of an event as the graph that they are: which follows which, what became of each, and what blocks it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from landfast.domain.arrival import Awaits
from landfast.domain.effect import SKIPPED, EffectState
from landfast.domain.machine import in_words


@dataclass(slots=True)
class Node:
    row: Mapping[str, Any]
    """As the ledger lists it."""
    before: list[Node] = field(default_factory=list)
    """Those that it was staged after, as far as they are still there."""
    layer: int = 0
    """0 for one that was staged after nothing; otherwise one more than the last of those before it."""
    blocked_by: Sequence[str] = ()
    """Labels of the dead ones that it waits for, itself or through others."""

    @property
    def label(self) -> str:
        named = self.row["step"].named
        return f"{self.row['name']}:{named}" if named else str(self.row["name"])

    @property
    def state(self) -> EffectState:
        state: EffectState = self.row["state"]
        return state

    def told(self) -> str:
        """Its state and why, for people."""
        if (wait := self.row["step"].arrival) is not None:
            return self._told_arrival(wait)
        if self.blocked_by:
            return f"waiting, blocked by {', '.join(self.blocked_by)}"
        if self.state is EffectState.WAITING:
            waits = [node.label for node in self.before if node.state is not EffectState.DONE]
            return f"waiting for {', '.join(waits)}"
        if self.row["error"] == SKIPPED:
            return SKIPPED
        if self.row["error"] and self.state is not EffectState.DONE:
            return f"{self.state}, {self.row['error']}"
        return str(self.state)

    def _told_arrival(self, wait: Awaits) -> str:
        if self.state is EffectState.DONE:
            came = json.loads(self.row["result"] or b"{}")
            return f"came, event {came['event']}" if "event" in came else f"did not come in {in_words(wait.deadline)}"
        if self.state is EffectState.DEAD:
            return f"dead, {self.row['error']}"
        return f"to come by {self.row['at']:%Y-%m-%d %H:%M:%S} UTC"


def graph_of(rows: Sequence[Mapping[str, Any]]) -> list[Node]:
    """Of one run, in the order in which they were staged: those before a node come before it. `rows` are newest first,
    as the ledger lists them."""
    # What a node takes from those before it is worked out here, once: there are far more ways through a graph than
    # nodes in it, and a way may be longer than Python's stack is deep.
    by_key: dict[str, Node] = {}
    for row in reversed(rows):
        node = Node(row)
        node.before = [by_key[key] for key in row["step"].after if key in by_key]
        node.layer = max((each.layer + 1 for each in node.before), default=0)
        node.blocked_by = _blocked_by(node)
        by_key[row["key"]] = node
    return list(by_key.values())


def _blocked_by(node: Node) -> Sequence[str]:
    if node.state is not EffectState.WAITING:
        return ()
    found: dict[str, None] = {}
    for each in node.before:
        found |= dict.fromkeys((each.label,) if each.state is EffectState.DEAD else each.blocked_by)
    return tuple(found)


def runs_of(rows: Sequence[Mapping[str, Any]]) -> dict[int, list[Node]]:
    """The graph of each run, the newest run first."""
    runs = sorted({int(row["run"]) for row in rows}, reverse=True)
    return {run: graph_of([row for row in rows if row["run"] == run]) for run in runs}


def tree(nodes: Sequence[Node]) -> list[str]:
    """Lines. A node that follows several stands below the last of them, and names them all."""
    below: dict[int, list[Node]] = {}
    for node in nodes:
        parent = max(node.before, key=lambda each: each.layer, default=None)
        below.setdefault(id(parent), []).append(node)
    lines: list[str] = []
    # Those that are still to be drawn, the next one last: what its own line begins with, and those below it.
    to_draw = [(node, "", "") for node in reversed(below.get(id(None), []))]
    while to_draw:
        node, begins, indent = to_draw.pop()
        also = f" (after {', '.join(each.label for each in node.before)})" if len(node.before) > 1 else ""
        lines.append(f"{begins}{node.label}{also}: {node.told()}")
        for number, child in enumerate(reversed(below.get(id(node), []))):
            branch, rest = ("├─ ", "│  ") if number else ("└─ ", "   ")
            to_draw.append((child, indent + branch, indent + rest))
    return lines
