"""How long it takes to refuse a forger tells nothing: no test can time that reliably, but one can read the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from landfast.providers import scheme

TREE = ast.parse(Path(scheme.__file__).read_text())


def test_digests_are_compared_by_compare_digest_only() -> None:
    verify = _function("verify")
    calls = [ast.unparse(node.func) for node in ast.walk(verify) if isinstance(node, ast.Call)]
    assert calls.count("hmac.compare_digest") == 1
    compared = [node for node in ast.walk(verify) if isinstance(node, ast.Compare)]
    assert [ast.unparse(node) for node in compared] == ["matching is None"]


def test_verifying_has_no_early_exit() -> None:
    loops = [node for node in ast.walk(_function("verify")) if isinstance(node, ast.For | ast.While)]
    assert len(loops) == 2, "every secret against every digest"
    exits = [node for loop in loops for node in ast.walk(loop) if isinstance(node, ast.Return | ast.Break | ast.Raise)]
    assert not exits


def test_a_digest_goes_from_the_decoder_to_the_comparison_and_nowhere_else() -> None:
    """Somebody who adds a second place that compares digests has to come here."""
    readers = {
        function.name
        for function in _functions()
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == "digests" and isinstance(node.ctx, ast.Load)
    }
    assert readers == {"verify"}


def _function(name: str) -> ast.FunctionDef:
    (found,) = (function for function in _functions() if function.name == name)
    return found


def _functions() -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(TREE) if isinstance(node, ast.FunctionDef))
