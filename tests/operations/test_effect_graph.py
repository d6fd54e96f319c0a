"""Graphs of effects that are as large as a handler may make them: each is told and drawn."""

from __future__ import annotations

from typing import Any

from landfast.domain.effect import EffectState, Step
from landfast.operations.effect_graph import graph_of, tree
from landfast.operations.graph_svg import svg


def row(key: str, *after: str, state: EffectState = EffectState.WAITING) -> dict[str, Any]:
    return {"key": key, "run": 1, "name": key, "state": state, "error": "", "step": Step(after=after)}


def newest_first(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [*reversed(rows)]


def test_layers_that_all_wait_for_all_before_them_are_told_and_drawn() -> None:
    """There are 4 ** 12 ways from the last layer to the first."""
    rows, before = [row("charge", state=EffectState.DEAD)], ["charge"]
    for layer in range(12):
        now = [f"{layer}.{number}" for number in range(4)]
        rows += [row(key, *before) for key in now]
        before = now
    nodes = graph_of(newest_first(*rows))
    assert {node.told() for node in nodes[1:]} == {"waiting, blocked by charge"}
    assert (nodes[-1].layer, len(tree(nodes)), svg(nodes).count("<rect")) == (12, 49, 49)


def test_a_chain_that_is_deeper_than_the_stack_is_told_and_drawn() -> None:
    chain = [row(str(number), str(number - 1)) for number in range(1, 2_000)]
    nodes = graph_of(newest_first(row("0", state=EffectState.DEAD), *chain))
    assert nodes[-1].told() == "waiting, blocked by 0"
    lines = tree(nodes)
    assert (len(lines), lines[-1].strip()) == (2_000, "└─ 1999: waiting, blocked by 0")
    assert svg(nodes).count("<rect") == 2_000


def test_a_step_is_blocked_by_every_dead_one_that_it_waits_for_and_each_is_named_once() -> None:
    nodes = graph_of(
        newest_first(
            row("mail", state=EffectState.DEAD),
            row("server", state=EffectState.DEAD),
            row("account", state=EffectState.READY),
            row("welcome", "mail", "account"),
            row("report", "mail", "server", "welcome"),
            row("invoice", "account"),
        )
    )
    assert {node.label: [*node.blocked_by] for node in nodes if node.before} == {
        "welcome": ["mail"],
        "report": ["mail", "server"],
        "invoice": [],
    }
    assert tree(nodes) == [
        "mail: dead",
        "└─ welcome (after mail, account): waiting, blocked by mail",
        "   └─ report (after mail, server, welcome): waiting, blocked by mail, server",
        "server: dead",
        "account: ready",
        "└─ invoice: waiting for account",
    ]
