"""The page about how a provider is described, drawn from the docstrings of the code that reads it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from itertools import pairwise
from textwrap import dedent
from types import ModuleType
from typing import Any

from landfast.providers import catalogue, custom, dedup, generic, handshake, items, locations, template
from landfast.providers.handshake import Handshake


def language() -> str:
    sections = [
        "# How a provider is described",
        "The tables `[providers.NAME]` of landfast.toml and the entries of the catalogue are written alike.",
        _text(custom),
        "## Places",
        _text(locations),
        "## What is signed",
        _text(template),
        "## What makes two deliveries one event",
        _text(dedup),
        "## Many events in one request",
        _text(items),
        "## Fields of every provider",
        "`key` is `body` and `type` is `body:type` if they are left out; nothing else is needed.",
        _after("The fields", catalogue),
    ]
    for name, scheme in custom.SCHEMES.items():
        sections += [f'## Fields of `scheme = "{name}"`', _table(scheme)]
    sections += ["## Handshakes", _text(handshake), _table(Handshake)]
    sections += [
        "## The `generic` provider",
        'For an HMAC in a header, a source alone is enough: `provider = "generic"`, and these beside it.',
        _table(generic.Options),
    ]
    return "\n\n".join(sections) + "\n"


def _text(module: ModuleType) -> str:
    """A docstring: its paragraphs as they are, and what is set in columns as a block."""
    paragraphs = inspect.cleandoc(module.__doc__ or "").split("\n\n")
    return "\n\n".join(f"```\n{dedent(each)}\n```" if _is_set(each) else each for each in paragraphs)


def _is_set(paragraph: str) -> bool:
    lines = paragraph.splitlines()
    return any("  " in line.strip() or line.startswith(("[", "    ")) for line in lines) or " = " in lines[0]


def _after(heading: str, module: ModuleType) -> str:
    """What stands under one heading of a docstring."""
    text = inspect.cleandoc(module.__doc__ or "")
    _, _, rest = text.partition(f"{heading}\n")
    body = rest.partition("\n")[2].partition("\n\n")[0]
    return f"```\n{body}\n```"


def _table(kind: type[Any]) -> str:
    said = dict(_docstrings(kind))
    rows = [
        f"| `{each.name}` | {_default(each)} | {said.get(each.name, '')} |"
        for each in fields(kind)
        if each.init and not each.name.startswith("_")
    ]
    return "\n".join(["| Field | If left out | |", "|---|---|---|", *rows])


def _docstrings(kind: type[Any]) -> Iterator[tuple[str, str]]:
    """The strings that stand below the fields of a class."""
    (body,) = ast.parse(inspect.getsource(kind)).body
    statements = body.body if isinstance(body, ast.ClassDef) else []
    for field, below in pairwise(statements):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            text = ast.literal_eval(below.value)
            yield field.target.id, " ".join(text.split()).replace("|", "\\|")


def _default(field: Field[Any]) -> str:
    if field.default is MISSING and field.default_factory is MISSING:
        return "needed"
    value = field.default
    if value is MISSING or value is None or value in {"", ()}:
        return ""
    return f"`{value}`"
