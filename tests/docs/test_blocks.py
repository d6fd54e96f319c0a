"""Every block of code of every page is run by somebody, or says beside itself why nobody can."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import asyncpg
import click
import pytest

from landfast.cli import landfast
from landfast.cli.groups import ListsByDefault
from landfast.config import load
from tests.deploy import plain_yaml
from tests.docs.blocks import OTHERS, PLAYED_BY, PREPARATIONS, ROOT, Block, blocks

BLOCKS = list(blocks())
RUNS = {
    "python": "test_pages.py runs all of a page, one after the other",
    "toml": "below: read, and where they are settings, taken as settings",
    "json": "below",
    "yaml": "below",
    "sql": "below",
    "nginx": "test_proxies_page.py",
    "haproxy": "test_proxies_page.py",
    "mermaid": "drawn from the code, by docs/generate.py",
    "text": "what is printed, or how something is laid out",
}
PART = {"EVENT": "evt_1A2b", "NAME": "stripe", "...": "x"}


def of(*kinds: str) -> list[Block]:
    return [block for block in BLOCKS if block.kind in kinds and not block.reason and not is_played(block)]


def is_played(block: Block) -> bool:
    return str(block.page.relative_to(ROOT)) in PLAYED_BY


def test_every_block_is_run_or_says_why_not() -> None:
    """Write `<!-- not run: why -->` on the line before a block that cannot run; or play the page in a test of its own,
    and name that test in `PLAYED_BY`."""
    assert len(BLOCKS) > 300
    assert not [f"{block}: {why}" for block in BLOCKS if (why := unrun(block))]


def unrun(block: Block) -> str:
    """Why nobody runs it."""
    if block.reason or is_played(block) or block.kind in RUNS:
        return ""
    if block.kind not in {"", "sh", "bash", "console"}:
        return f"nobody runs {block.kind}"
    if not block.is_typed:
        return ""
    strange = [line for line in block.commands if not line.startswith(("landfast", *PREPARATIONS))]
    return f"nobody runs {strange[0]!r}" if strange else ""


def test_a_block_that_nobody_runs_is_told(tmp_path: Path) -> None:
    page = ROOT / "docs/made-up.md"
    typed = Block(page, 1, "", "landfast doctor\ncurl http://127.0.0.1:8420/ready\n", "")
    assert "curl" in unrun(typed)
    assert "perl" in unrun(Block(page, 1, "perl", "1;", ""))
    assert not unrun(Block(page, 1, "perl", "1;", "no perl on the machine"))
    hidden = Block(page, 1, "text", "docker run landfast\n", "")
    assert typed_as_text(hidden) and not typed_as_text(Block(page, 1, "text", "INFO stored\n", ""))


def test_nothing_that_is_typed_hides_as_text() -> None:
    assert not [str(block) for block in BLOCKS if not block.reason and typed_as_text(block)]


def typed_as_text(block: Block) -> bool:
    begins = ("landfast ", "pip install", *(f"{word} " for word in OTHERS if word != "for"))
    return block.kind == "text" and any(line.startswith(begins) for line in block.text.splitlines())


def test_the_tests_that_play_a_page_read_that_page() -> None:
    for page, test in PLAYED_BY.items():
        assert (ROOT / page).is_file() and page in (ROOT / test).read_text()


@pytest.mark.parametrize("block", of("", "sh", "bash", "console"), ids=str)
def test_every_command_of_ours_that_a_page_types_is_one(block: Block) -> None:
    for line in block.commands if block.is_typed else []:
        if line.startswith("landfast "):
            must_parse([PART.get(word, word) for word in shlex.split(line)[1:]])


def must_parse(words: list[str]) -> None:
    """What click refuses, it says; nothing is run."""
    # With its settings: click remembers a command's help option as the first context asked for it.
    context, command = click.Context(landfast, info_name="landfast", **landfast.context_settings), landfast
    inner: click.Command = command
    while isinstance(inner, click.Group):
        if words == ["--help"]:
            return
        words = words or (["list"] if isinstance(inner, ListsByDefault) else words)
        name, found, words = inner.resolve_command(context, words)
        assert found is not None and name is not None
        inner, context = found, click.Context(found, parent=context, info_name=name)
    of_the_reader = re.compile(r"[\w-]+\.(json|jsonl|pem|txt|sql)")
    with context:  # which closes what was opened
        inner.parse_args(context, [__file__ if of_the_reader.fullmatch(word) else word for word in words])


@pytest.mark.parametrize("block", of("toml"), ids=str)
def test_toml_is_read_and_settings_are_taken(block: Block, tmp_path: Path) -> None:
    found = tomllib.loads(block.text)
    if "project" in found or "tool" in found:
        return  # of the reader's own pyproject.toml
    needed = {"preset": 'redis = "redis://127.0.0.1/0"\n'} if "redis" not in found else {}
    before = "".join(line for key, line in needed.items() if key in found)
    text = re.sub(
        r"(?m)^(\[sources\.(?!acme)(\w+)\]\n)(?!(?:.+\n)*provider)",
        r'\1provider = "stripe"\nsecrets = ["env:S"]\n',
        block.text,
    )
    (tmp_path / "landfast.toml").write_text(before + text)
    environ = {"LANDFAST_STORE": "postgresql://localhost/x"} if "concurrency" in found else {}
    assert load(tmp_path / "landfast.toml", environ=environ)


@pytest.mark.parametrize("block", of("json"), ids=str)
def test_json_is_json(block: Block) -> None:
    assert json.loads(block.text)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.kind == "yaml"], ids=str)
def test_yaml_is_plain_yaml(block: Block) -> None:
    assert plain_yaml.read(block.text)


@pytest.mark.parametrize("block", of("sql"), ids=str)
async def test_sql_runs_on_a_database_of_ours(block: Block, migrated_database: str) -> None:
    connection = await asyncpg.connect(migrated_database)
    try:
        await connection.execute(block.text)
    finally:
        await connection.close()
