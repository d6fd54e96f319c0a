"""What the page shows is what the command prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs/howto/prove-a-handler.md").read_text("utf-8")


def steady(text: str) -> list[str]:
    """Without what differs from run to run."""
    text = re.sub(r"\d+\.\d s", "N s", text)
    return [line.rstrip() for line in re.sub(r"'[0-9a-f]{32}'", "'DRAWN'", text).strip().splitlines()]


@pytest.mark.req("R64")
def test_the_page_shows_what_the_command_prints(tmp_path: Path) -> None:
    (shop, *_) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    printed = PAGE.partition("prints:")[2].split("```")[1]
    (tmp_path / "shop.py").write_text(shop)
    command = [str(Path(sys.executable).parent / "landfast"), "prove", "shop:inbox"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert steady(ended.stdout) == steady(printed), ended.stderr
    assert ended.returncode == 1
    assert {each.name for each in tmp_path.iterdir()} - {"__pycache__"} == {"shop.py"}
