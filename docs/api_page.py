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
from landfast import (
    Arrival,
    Backoff,
    BlockingTransaction,
    DeadLetter,
    Effect,
    Event,
    GiveUp,
    Inbox,
    Response,
    RetryLater,
    Staged,
    Transaction,
    WaitFor,
    sql,
)
from landfast.app.declaring import Declaring
from landfast.app.endpoints import Endpoints
from landfast.app.middleware import Middleware
from landfast.app.mount import Mounted
from landfast.app.opened import Opened
from landfast.app.wsgi_mount import WsgiMounted
from landfast.processing.handlers.transaction import Lent
from landfast.testing.blocking import BlockingInboxTester
from landfast.testing.calling import Calling
from landfast.testing.reports import (
    Called,
    Delivered,
    EffectReport,
    EventReport,
    Failure,
    Redelivered,
    StormReport,
)
from landfast.testing.requests import SignedRequest
from landfast.testing.tester import InboxTester

HEAD = """\
# Python API

Everything that is public, from the signatures and docstrings of the code. What is not here may change without notice.

```python
from landfast import Arrival, Backoff, BlockingTransaction, DeadLetter, Effect, Event, GiveUp, Inbox, Response
from landfast import RetryLater, Staged, Transaction, WaitFor, sql
from landfast.testing import BlockingInboxTester, InboxTester, TestInbox, sample, sign, signed_request
```

| | |
|---|---|
| [Inbox](#inbox) | what you declare sources, handlers and effects on, and what you mount |
| [Event](#event), [Transaction](#transaction), [BlockingTransaction](#blockingtransaction) | what a handler is given |
| [Response](#response) | what the function of an endpoint returns |
| [Effect](#effect) | what an effect is given |
| [Staged](#staged) | what `tx.stage` returns |
| [Arrival](#arrival) | what `inbox.arrival` returns: an event that steps of others wait for |
| [DeadLetter](#deadletter) | what a function of `on_dead` is given |
| [GiveUp](#giveup), [RetryLater](#retrylater), [WaitFor](#waitfor) | what a handler or effect raises on purpose |
| [Backoff](#backoff) | how long a failed event is tried again |
| [Mounted](#mounted), [WsgiMounted](#wsgimounted) | what `inbox.asgi()` and `inbox.wsgi()` return |
| [Middleware](#middleware) | what `inbox.middleware()` returns |
| [landfast.sql](#landfastsql) | writes that may be made twice |
| [landfast.testing](#landfasttesting) | tests of your own handlers |
"""
SQL = """\
## landfast.sql

Statements that may be made twice, for whatever a handler is given: [how](../howto/write-twice.md). Where that is
awaited, these are; their answer is an [Outcome](#outcome).
"""
TESTING = """\
## landfast.testing

In pytest, `inbox` is a [BlockingInboxTester](#blockinginboxtester) and `async_inbox` an [InboxTester](#inboxtester);
[how to test](../howto/test.md) begins with them. Without pytest, there is [TestInbox](#testinbox), which knows less.

```python
from landfast import Inbox

inbox = Inbox()
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event, tx):
    await tx.execute("INSERT INTO orders VALUES ($1)", event.key)


def test_an_order_is_made_once(inbox):
    inbox.ledger.execute("CREATE TABLE orders (key TEXT)")
    for _ in range(3):
        inbox.deliver("stripe", "payment_intent.succeeded", id="evt_1")
    inbox.drain()
    inbox.assert_handled_once("create_order")
    assert [row["key"] for row in inbox.ledger.execute("SELECT key FROM orders")] == ["evt_1"]
```
"""
STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
WIDTH = 110
"""Of a signature on one line."""
INSIDE = {
    "Transaction.check_awaited": "Landfast calls it after the handler",
    "Transaction.conclude": "the same",
    "Transaction.given": "what a handler asks for is an argument of its own",
    "BlockingTransaction.conclude": "as above",
    "BlockingTransaction.given": "as above",
    "InboxTester.close": "the fixture calls it after the test",
    "Mounted.another": "`inbox.wsgi()` makes one for each process",
    "Middleware.here": "for the Django view",
}
"""Names without an underscore that are none of a user's business, and why."""

CLASSES: tuple[type[Any], ...] = (
    *(Inbox, Event, Transaction, BlockingTransaction, Response, Effect, DeadLetter),
    *(Staged, Arrival, GiveUp, RetryLater, WaitFor, Backoff, Mounted, WsgiMounted, Middleware),
)
MADE: tuple[type[Any], ...] = (Inbox, Response, RetryLater, WaitFor, Backoff, landfast.testing.TestInbox)
"""What users call by its name; all others are given to them."""

TOLD_TO_TESTS: tuple[type[Any], ...] = (
    *(InboxTester, BlockingInboxTester, landfast.testing.TestInbox, Delivered, Called, SignedRequest),
    *(EventReport, EffectReport, Failure, Redelivered, StormReport),
)


def api() -> str:
    sections = [HEAD, *(_class(kind) for kind in CLASSES), SQL]
    sections += [_function(f"sql.{name}", getattr(sql, name), "###") for name in sql.__all__ if name != "Outcome"]
    sections += [_class(sql.Outcome, deeper="#"), TESTING]
    sections += [_class(kind, deeper="#") for kind in TOLD_TO_TESTS]
    sections += [
        _function(f"landfast.testing.{name}", getattr(landfast.testing, name), "###")
        for name in landfast.testing.__all__
        if inspect.isfunction(getattr(landfast.testing, name))
    ]
    return "\n".join(sections).rstrip() + "\n"


def members(kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Its public methods and properties, in the order of the code."""
    parts = [kind, *(part for part in (Declaring, Endpoints, Opened, Calling, Lent) if part in kind.__mro__)]
    for name, member in [pair for part in parts for pair in vars(part).items()]:
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
