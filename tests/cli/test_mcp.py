"""`landfast mcp`: options that do not fit. What it does is in tests/assistant."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--allow-changes", "--role", "viewer"), "--role viewer changes nothing"),
        (("--as", " "), "--as takes a name"),
        (("--as", "a\tb"), "--as takes a name"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(landfast: Run, options: tuple[str, ...], sentence: str) -> None:
    refused = landfast("mcp", *options)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("landfast: mcp: ") and sentence in refused.err
