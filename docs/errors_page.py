"""The page of errors, drawn from the tree in `domain/errors.py`."""

from __future__ import annotations

import ast
import inspect

from landfast.domain import errors as tree
from landfast.domain.errors import LandfastError, OverloadedError, SenderError, UserError

HEAD = """\
# Errors

Every error of Landfast, split by whose fault it is. They are in `landfast.domain.errors`, and each is a
`LandfastError`. What your own code raises is kept as it is: an attempt fails with that error, and
`landfast events show` has its trace.
`GiveUp` and `RetryLater` are no errors but decisions: [the Python API](api.md#giveup) has them.
"""


def errors() -> str:
    drawn = inspect.cleandoc(tree.__doc__ or "").partition("\n\n")[2]
    parts = [HEAD, "```text", drawn, "```", ""]
    for kind in kinds():
        parts += [f"## {kind.__name__}", "", _said(kind), ""]
        if answer := _answered(kind):
            parts += [answer, ""]
    return "\n".join(parts).rstrip() + "\n"


def kinds() -> list[type[LandfastError]]:
    """In the order of the module."""
    return [
        each
        for each in vars(tree).values()
        if isinstance(each, type) and issubclass(each, LandfastError) and each.__module__ == tree.__name__
    ]


def _said(kind: type[LandfastError]) -> str:
    (node,) = ast.parse(inspect.getsource(kind)).body
    text = ast.get_docstring(node) if isinstance(node, ast.ClassDef) else None
    if text is None:
        raise ValueError(f"{kind.__name__} has no docstring of its own")
    return text


def _answered(kind: type[LandfastError]) -> str:
    if issubclass(kind, SenderError | OverloadedError) and kind is not SenderError:
        answer = kind.answer
        return f"The sender is told {answer.status}, `{answer.body.decode()}`."
    if issubclass(kind, UserError) and kind is not UserError:
        return "A command prints its sentence and exits with 2."
    return ""
