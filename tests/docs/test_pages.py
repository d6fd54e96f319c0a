"""Documentation that is true: every Python block runs, every link leads somewhere, every command exists."""

from __future__ import annotations

import re
import sqlite3
import sys
from contextlib import closing
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from docs import generate
from landfast.app.sources import profile_of
from landfast.cli import COMMANDS, main
from landfast.config import load
from landfast.domain.lifecycle import State
from landfast.providers.catalogue import PROFILES
from tests.docs.blocks import PLAYED_BY, blocks
from tests.shops import Shop, until

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PLAYED_ELSEWHERE = {ROOT / page for page in PLAYED_BY}
PROSE = [page for part in ("docs", "docs/howto", "docs/explanation") for page in (ROOT / part).glob("*.md")]
PROSE += [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md")]
WIDEST = 130
"""Characters of a line that is no table and no code: two windows side by side."""
PLACEHOLDER = re.compile("NAME|NNNN")
NOT_HERE = {
    "bench/results/latest.json": "make bench writes it",
    "click.py": "of another package",
    "inboxes/*/sql/unpark_candidates.sql": "ADR 27 says what a new state would need",
    "app.py": "the reader of a how-to writes it",
    "test_shop.py": "the reader of the tutorial writes it",
}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if page not in PLAYED_ELSEWHERE], ids=name)
def test_the_python_blocks_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", "whsec_documentation_only")
    module = ModuleType("page")  # a real one: SQLAlchemy looks up what an annotation names there
    monkeypatch.setitem(sys.modules, "page", module)
    for block in blocks(page):
        if block.kind == "python" and not block.reason:
            exec(compile(block.text, str(block), "exec"), module.__dict__)


async def test_the_example_of_the_readme_works_as_it_is_written(tmp_path: Path) -> None:
    shop = Shop(tmp_path, str(tmp_path / "landfast.db"), str(tmp_path / "shop.db"))
    example = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    (tmp_path / "shop.py").write_text(example)
    async with shop.serving() as serve:
        assert await shop.send(serve, "evt_1") == 200
        await until(lambda: shop.count(State.DONE), 1)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        assert db.execute("SELECT payment_id, amount FROM orders").fetchall() == [("pi_1", 8999)]


def test_the_pages_say_how_many_providers_there_are() -> None:
    said = [count for page in PAGES for count in re.findall(r"\[(\d+) providers\]", page.read_text())]
    assert said and set(said) == {str(len(PROFILES))}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_of_a_page_lead_to_files_that_exist(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_to_a_part_of_a_page_lead_to_a_heading(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text())
    lost = [f"{link}#{part}" for link, part in links if part not in headings(page.parent / link if link else page)]
    assert not lost


def headings(page: Path) -> set[str]:
    """As their anchors are called: lower case, hyphens, no punctuation."""
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", sorted(PROSE), ids=name)
def test_no_line_of_prose_is_wider_than_a_window(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    assert not [line for line in text.splitlines() if len(line) > WIDEST and not line.startswith("|")]


def test_every_page_for_people_is_in_the_index() -> None:
    index = (ROOT / "docs/index.md").read_text()
    pages = [
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/howto").glob("*.md"),
        *(ROOT / "docs/explanation").glob("*.md"),
    ]
    pages += (ROOT / "docs/reference").glob("*.md")
    named = {page: str(page.relative_to(ROOT / "docs")) for page in pages if page.name != "index.md"}
    assert not [link for link in named.values() if f"({link})" not in index]
    assert "docs/index.md" in (ROOT / "README.md").read_text()


def test_the_generated_pages_are_up_to_date() -> None:
    """`make docs` draws them again."""
    drawn = generate.pages()
    for page, text in drawn.items():
        assert (ROOT / "docs/reference" / page).read_text() == text, f"docs/reference/{page}: run make docs"
    there = {str(page.relative_to(ROOT / "docs/reference")) for page in (ROOT / "docs/reference").rglob("*.*")}
    assert there == set(drawn), "a page of something that is no more"


def test_the_page_of_commands_shows_exactly_what_help_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = (ROOT / "docs/reference/commands.md").read_text()
    shown = re.findall(r"^## ([^\n]+)\n\n```\n(.*?)```", page, re.MULTILINE | re.DOTALL)
    assert len(shown) > len(COMMANDS)
    for command, text in shown:
        capsys.readouterr()
        assert main([*command.split()[1:], "--help"]) == 0
        printed = capsys.readouterr().out
        assert [line.rstrip() for line in printed.splitlines()] == text.splitlines(), command


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_paths_that_a_page_names_exist(page: Path) -> None:
    assert not gone(page)


def test_the_paths_that_comments_and_docstrings_name_exist() -> None:
    folders = ("src", "tests", "bench", "docs", "models", "simulations", "deploy")
    files = [file for folder in folders for kind in ("*.py", "*.sql") for file in (ROOT / folder).rglob(kind)]
    files.remove(Path(__file__).resolve())  # it names some that are gone, below
    assert not {name(file): lost for file in [ROOT / "Makefile", *files] if (lost := gone(file))}


def test_a_path_that_is_gone_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`config/keys.py` `tests/intake/` `inboxes/*/moves.py` `machines.py` `orders/paid` `cli/NAME.py`")
    assert gone(page) == ["config/keys.py", "machines.py"]


def gone(file: Path) -> list[str]:
    """What stands in backticks, looks like a file or folder of this repository, and is none. Paths begin at the root or
    in src/landfast; a file without a folder may be anywhere."""
    paths = re.findall(r"`([\w*.-]+(?:/[\w*.-]+)+/?|[a-z_]+\.py)`", file.read_text())
    return [path for path in paths if path not in NOT_HERE and not PLACEHOLDER.search(path) and not _exists(path)]


def _exists(path: str) -> bool:
    if "/" not in path:
        return path in _file_names()
    roots = [root for root in (ROOT, ROOT / "src/landfast") if (root / path.split("/", maxsplit=1)[0]).is_dir()]
    return not roots or any(next(root.glob(path.rstrip("/")), None) is not None for root in roots)


@cache
def _file_names() -> frozenset[str]:
    folders = ("src", "tests", "bench", "docs", "models", "simulations", "examples")
    return frozenset(file.name for folder in folders for file in (ROOT / folder).rglob("*.py"))


def test_the_architecture_stays_readable_in_one_sitting() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 300


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "providers"], ids=name)
def test_the_settings_of_a_providers_page_are_taken_as_they_are_written(page: Path, tmp_path: Path) -> None:
    (tmp_path / "landfast.toml").write_text("".join(re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)))
    (source,) = load(tmp_path / "landfast.toml", environ={}).sources.values()
    profile = profile_of(source)
    assert profile.name == page.stem and not profile.missing
