"""The page about local development is played as it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_tutorial import Player

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/howto/local-development.md").read_text("utf-8")


@pytest.mark.long
@pytest.mark.req("R54", "R65")
def test_the_page_goes_as_it_is_told(tmp_path: Path) -> None:
    player = Player(tmp_path)
    try:
        for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL):
            for turn in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, *wanted = turn.rstrip("\n").split("\n")
                player.play(command, wanted)
        player.stop()
    finally:
        player.kill()
    assert "handler_done handler=create_order" in (tmp_path / "serve.log").read_text()


def test_the_page_leaves_no_block_unplayed() -> None:
    assert TEXT.count("```console\n") == TEXT.count("```") // 2
