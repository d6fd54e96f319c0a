"""The documentation site: built strictly, complete, and loading nothing from anywhere else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs import navigation
from tests.docs.blocks import ROOT
from tests.patience import PATIENCE_SECONDS


def test_the_index_is_up_to_date() -> None:
    """`make docs` draws it again."""
    assert (ROOT / "docs/index.md").read_text() == navigation.index()


def test_every_page_has_its_place() -> None:
    """Name it in docs/navigation.py, with what its reader wants."""
    assert not navigation.homeless()


class Loads(HTMLParser):
    """What a browser would fetch for a page, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := found.get(name))}
        if tag == "a" and (link := found.get("href")):
            self.links.append(link)
        elif address := found.get("src") or (found.get("href") if tag == "link" else None):
            self.loaded.append(address)


def build(root: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """As `make docs` does. Not with --quiet: what is not said is not counted, and --strict finds nothing."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT, folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.mark.long
def test_a_link_a_heading_and_a_page_that_nobody_finds_end_the_build(tmp_path: Path) -> None:
    assert "mkdocs build --strict\n" in (ROOT / "Makefile").read_text()
    for name in ("docs", "deploy"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("providers", "__pycache__"))
    for file in (*ROOT.glob("*.md"), ROOT / "mkdocs.yml", ROOT / "pyproject.toml"):
        shutil.copy(file, tmp_path)
    with (tmp_path / "docs/glossary.md").open("a") as page:
        page.write("\n[a](howto/gone.md) [b](tutorial.md#gone-as-well) [c](../deploy/gone.yaml)\n")
    (tmp_path / "docs/howto/orphan.md").write_text("# Nobody leads here\n")
    built = build(tmp_path, tmp_path / "site")
    assert built.returncode != 0
    said = built.stdout + built.stderr
    assert all(word in said for word in ("howto/gone.md", "gone-as-well", "gone.yaml", "howto/orphan.md")), said


@pytest.mark.long
def test_the_site_is_whole(site: Path) -> None:
    pages = {page: read(page) for page in site.rglob("*.html")}
    assert len(pages) > 170
    lost, fetched = [], set()
    for page, found in pages.items():
        fetched |= {address for address in found.loaded if urlsplit(address).scheme or address.startswith("//")}
        if page.name != "404.html":  # its links begin at the root of the site, wherever that is
            lost += [f"{page.relative_to(site)} -> {link}" for link in found.links if leads_nowhere(page, link, pages)]
    assert not fetched, "something comes from elsewhere"
    assert not lost
    assert not [file for file in site.rglob("*") if file.suffix in (".py", ".pyc", ".md")], "no page for people"
    for styles in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", styles.read_text()), styles.name
    assert not [page for page in pages if 'class="mermaid"' in page.read_text()], "its library would be fetched"
    # In one test: each process of the test run that needs the site builds it.
    every_page_can_be_searched_for_without_a_server(site)
    what_lies_beside_the_pages_has_a_page_there(site)


def read(page: Path) -> Loads:
    found = Loads()
    found.feed(page.read_text("utf-8"))
    return found


def leads_nowhere(page: Path, link: str, pages: dict[Path, Loads]) -> bool:
    parts = urlsplit(link)
    if parts.scheme:
        return parts.scheme not in {"http", "https", "mailto"}
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    if target not in pages:
        return not target.is_file()
    return bool(parts.fragment) and unquote(parts.fragment) not in pages[target].ids | {"__search", "__toc"}


def every_page_can_be_searched_for_without_a_server(site: Path) -> None:
    script = (site / "search/search_index.js").read_text()
    index = json.loads(script.removeprefix("var __index = "))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    named = [
        *navigation.LOOK_UP,
        *navigation.UNDERSTAND,
        *(page for pages in navigation.howto_pages().values() for page in pages),
    ]
    assert {page.removesuffix(".md") + ".html" for page in named} <= found
    assert "iframe-worker.js" in (site / "index.html").read_text()


def what_lies_beside_the_pages_has_a_page_there(site: Path) -> None:
    assert (site / "project/changelog.html").is_file() and (site / "adr/index.html").is_file()
    shown = (site / "files/deploy/kubernetes/worker.yaml.html").read_text()
    assert "health-port" in shown
    moves = (site / "reference/lifecycle.html").read_text()
    assert 'class="moves"' in moves and "requeue, replay" in moves


@pytest.mark.long
def test_a_browser_finds_a_page_from_a_folder(site: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("there is no browser here: apt-get install chromium")
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    quiet += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={tmp_path}"]
    address = f"{(site / 'index.html').as_uri()}?q=kubernetes"
    shown = subprocess.run(
        [browser, *quiet, "--virtual-time-budget=10000", "--dump-dom", address],
        capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS,
    ).stdout  # fmt: skip
    results = shown.partition("md-search-result__list")[2].partition("</ol>")[0]
    assert "howto/kubernetes.html" in results and "files/deploy" not in results
