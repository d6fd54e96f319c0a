"""The page of the Python API, drawn from signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

import landfast
import landfast.testing
from landfast import Backoff, BlockingTransaction, Effect, Event, GiveUp, Inbox, RetryLater, Transaction
from landfast.app.mount import Mounted
from landfast.testing.inbox import Delivered

HEAD = """\
# Python API

Everything that is public, from the signatures and docstrings of the code. What is not here may change without notice.

```python
from landfast import Backoff, BlockingTransaction, Effect, Event, GiveUp, Inbox, RetryLater, Transaction
from landfast.testing import TestInbox, sample, sign, signed_request
```

| | |
|---|---|
| [Inbox](#inbox) | what you declare sources, handlers and effects on, and what you mount |
| [Event](#event), [Transaction](#transaction), [BlockingTransaction](#blockingtransaction) | what a handler is given |
| [Effect](#effect) | what an effect is given |
| [GiveUp](#giveup), [RetryLater](#retrylater) | what a handler or effect raises on purpose |
| [Backoff](#backoff) | how long a failed event is tried again |
| [Mounted](#mounted) | what `inbox.asgi()` returns |
| [landfast.testing](#landfasttesting) | tests of your own handlers |
"""
TESTING = """\
## landfast.testing

```python
from landfast import Inbox
from landfast.testing import TestInbox

inbox = Inbox()
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event, tx):
    await tx.execute("INSERT INTO orders VALUES ($1)", event.key)


async def test_an_order_is_made_once():
    async with TestInbox(inbox) as t:
        t.ledger.execute("CREATE TABLE orders (key TEXT)")
        for _ in range(3):
            await t.deliver("stripe", type="payment_intent.succeeded", id="evt_1")
        await t.drain()
        assert [row["key"] for row in t.ledger.execute("SELECT key FROM orders")] == ["evt_1"]
```
"""
STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
WIDTH = 110
"""Of a signature on one line."""
INSIDE = {
    "Transaction.check_awaited": "Landfast calls it after the handler",
}
"""Names without an underscore that are none of a user's business, and why."""

CLASSES: tuple[type[Any], ...] = (
    *(Inbox, Event, Transaction, BlockingTransaction, Effect),
    *(GiveUp, RetryLater, Backoff, Mounted),
)
MADE: tuple[type[Any], ...] = (Inbox, RetryLater, Backoff, landfast.testing.TestInbox)
"""What users call by its name; all others are given to them."""


def api() -> str:
    sections = [HEAD, *(_class(kind) for kind in CLASSES), TESTING]
    sections += [_class(landfast.testing.TestInbox, deeper="#"), _class(Delivered, deeper="#")]
    sections += [
        _function(f"landfast.testing.{name}", getattr(landfast.testing, name), "###")
        for name in landfast.testing.__all__
        if inspect.isfunction(getattr(landfast.testing, name))
    ]
    return "\n".join(sections).rstrip() + "\n"


def members(kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Its public methods and properties, in the order of the code."""
    for name, member in vars(kind).items():
        if name.startswith("_") or f"{kind.__name__}.{name}" in INSIDE:
            continue
        if inspect.isfunction(member) or isinstance(member, property):
            yield name, member


def _class(kind: type[Any], deeper: str = "") -> str:
    lines = [f"##{deeper} {kind.__name__}", ""]
    if kind in MADE:
        lines += ["```text", _signature(kind.__name__, kind), "```", ""]
    lines += [_said(kind, kind.__name__), ""]
    if rows := list(_attributes(kind)):
        lines += ["| Field | |", "|---|---|", *rows, ""]
    for name, member in members(kind):
        lines.append(_member(kind, name, member, f"###{deeper}"))
    return "\n".join(lines)


def _member(kind: type[Any], name: str, member: Any, level: str) -> str:
    if isinstance(member, property):
        return "\n".join([f"{level} {kind.__name__}.{name}", "", _said(member.fget, f"{kind.__name__}.{name}"), ""])
    return _function(f"{kind.__name__}.{name}", member, level)


def _function(name: str, function: Callable[..., Any], level: str) -> str:
    called = name.rpartition(".")[2]
    begin = "async " if inspect.iscoroutinefunction(function) else ""
    shown = ["```text", begin + _signature(called, function), "```", ""]
    return "\n".join([f"{level} {name}", "", *shown, _said(function, name), ""])


def _signature(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    shown, is_keyword = [], False
    for each in signature.parameters.values():
        if each.name == "self":
            continue
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not is_keyword:
            shown.append("*")
            is_keyword = True
        shown.append(_parameter(each))
    is_plain = inspect.isclass(function) or signature.return_annotation is inspect.Signature.empty
    end = "" if is_plain else f" -> {_short(signature.return_annotation)}"
    line = f"{name}({', '.join(shown)}){end}"
    return line if len(line) <= WIDTH else "\n".join([f"{name}(", *(f"    {each}," for each in shown), f"){end}"])


def _parameter(given: inspect.Parameter) -> str:
    text = f"{STARS.get(given.kind.name, '')}{given.name}: {_short(given.annotation)}"
    if given.default is inspect.Parameter.empty:
        return text
    value = given.default
    shown = "Backoff()" if value == Backoff() else "..." if callable(value) else repr(value).replace("'", '"')
    return f"{text} = {shown}"


def _short(annotation: Any) -> str:
    """Without the modules that a name comes from."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"(?:landfast|builtins|stores)\.(?:\w+\.)*", "", text)


def _said(what: Any, name: str) -> str:
    text = inspect.getdoc(what) if not inspect.isclass(what) else inspect.cleandoc(what.__doc__ or "")
    if not text or (is_dataclass(what) and text.startswith(f"{name}(")):
        raise ValueError(f"{name} has no docstring: docs/reference/api.md would say nothing about it")
    return text


def _attributes(kind: type[Any]) -> Iterator[str]:
    (tree,) = ast.parse(inspect.getsource(kind)).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    said = {
        name: " ".join(str(ast.literal_eval(below.value)).split())
        for field, below in pairwise(body)
        if (name := _name(field)) and isinstance(below, ast.Expr)
    }
    defaults = {each.name for each in fields(kind)} if is_dataclass(kind) else set()
    for node in body:
        if (name := _name(node)) and isinstance(node, ast.AnnAssign):
            shown = ast.unparse(node.annotation).replace("|", "\\|")
            is_plain = name in defaults and node.value is not None and not isinstance(node.value, ast.Call)
            default = f" = {ast.unparse(node.value)}" if is_plain and node.value is not None else ""
            if name not in said:
                raise ValueError(f"{kind.__name__}.{name} has no sentence below it")
            yield f"| `{name}: {shown}{default}` | {said[name]} |"


def _name(node: ast.stmt) -> str:
    """Of a public field."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return "" if node.target.id.startswith("_") else node.target.id
    return ""
