"""How long it takes to refuse a forger tells nothing: no test can time that reliably, but one can read the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from landfast.providers import schemes

FOLDER = Path(schemes.__file__).parent


@pytest.mark.parametrize(("module", "kind"), [("algorithms", "Hmac"), ("algorithms", "Plain")])
def test_digests_are_compared_by_compare_digest_only(module: str, kind: str) -> None:
    check = _function(module, "check", kind)
    calls = [ast.unparse(node.func) for node in ast.walk(check) if isinstance(node, ast.Call)]
    assert calls.count("hmac.compare_digest") == 1
    assert not [node for node in ast.walk(check) if isinstance(node, ast.Compare)]


@pytest.mark.parametrize(
    ("module", "kind", "function", "loops"),
    [
        ("algorithms", "Hmac", "check", 1),  # every signature
        ("algorithms", "Plain", "check", 1),
        ("signed", "SignedScheme", "_matching", 1),  # with every secret
        ("token", "TokenScheme", "verify", 2),
        ("jwt", "JwtScheme", "verify", 1),
    ],
)
def test_verifying_has_no_early_exit(module: str, kind: str, function: str, loops: int) -> None:
    found = [node for node in ast.walk(_function(module, function, kind)) if isinstance(node, ast.For | ast.While)]
    assert len(found) == loops
    exits = [node for loop in found for node in ast.walk(loop) if isinstance(node, ast.Return | ast.Break | ast.Raise)]
    assert not exits


def test_nothing_in_the_schemes_compares_a_digest_by_equality() -> None:
    """Somebody who adds a second place that compares digests has to come here."""
    suspicious = ("digest", "expected", "signature", "secret.key")
    found = [
        f"{file.name}: {ast.unparse(node)}"
        for file in FOLDER.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Name | ast.Attribute) and ast.unparse(side) in suspicious
    ]
    assert not found


def _function(module: str, name: str, kind: str) -> ast.FunctionDef:
    tree = ast.parse((FOLDER / f"{module}.py").read_text())
    (owner,) = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == kind)
    (found,) = (function for function in _functions(owner) if function.name == name)
    return found


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
