"""How long it takes to refuse a forger tells nothing: no test can time that reliably, but one can read the code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from landfast.providers import schemes

FOLDER = Path(schemes.__file__).parent


def test_digests_are_compared_by_compare_digest_only() -> None:
    compare = _function("algorithms", "_is_right")
    calls = [ast.unparse(node.func) for node in ast.walk(compare) if isinstance(node, ast.Call)]
    assert calls.count("hmac.compare_digest") == 1
    assert not [node for node in ast.walk(compare) if isinstance(node, ast.Compare)]
    for kind in ("Hmac", "Plain"):
        assert "return _is_right(" in ast.unparse(_function("algorithms", "check", kind))


@pytest.mark.parametrize(
    ("module", "kind", "function", "loops"),
    [
        ("algorithms", None, "_is_right", 1),  # every signature
        ("signed", "SignedScheme", "_matching", 1),  # with every secret
        ("token", None, "_matching", 2),
        ("jwt", "JwtScheme", "verify", 1),
    ],
)
def test_verifying_has_no_early_exit(module: str, kind: str | None, function: str, loops: int) -> None:
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


def _function(module: str, name: str, kind: str | None = None) -> ast.FunctionDef:
    owner: ast.Module | ast.ClassDef = ast.parse((FOLDER / f"{module}.py").read_text())
    if kind is not None:
        (owner,) = (node for node in owner.body if isinstance(node, ast.ClassDef) and node.name == kind)
    (found,) = (node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == name)
    return found
