"""docs/howto/test.md as its reader would play it: the blocks saved as files, and pytest run on them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TEXT = (Path(__file__).resolve().parents[2] / "docs/howto/test.md").read_text("utf-8")


def test_every_block_of_the_page_runs(pytester: pytest.Pytester) -> None:
    kinds = re.findall(r"^```(\w+)", TEXT, re.MULTILINE)
    shop, conftest, *tests = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    (settings,) = re.findall(r"^```ini\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert kinds.count("python") == len(tests) + 2 and set(kinds) == {"python", "ini", "text"}
    # The block for Django is played by test_on_django.py.
    files = {"shop.py": shop, "conftest.py": conftest, "pytest.ini": settings, "test_shop.py": "\n".join(tests)}
    for name, text in files.items():
        (pytester.path / name).write_text(text)
    written = len(re.findall(r"^(?:async )?def test_", "\n".join(tests), re.MULTILINE))
    ended = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    ended.assert_outcomes(passed=written + 4)  # one of them at five places
    assert not list(pytester.path.glob("*.db")), "nothing of the real shop was opened"


@pytest.mark.parametrize("word", ["deliver_body", "redeliver", "run_for", "crash_at", "storm", "landfast_ledger"])
def test_the_page_tells_of(word: str) -> None:
    assert word in TEXT
