"""What MkDocs is told beyond mkdocs.yml: the navigation, the pages that lie beside docs/, and links to files.

A link of a page leads to a file of the repository, so that it works where the repository is read. On the site

    docs/howto/deploy.md       is that page
    CHANGELOG.md               is a page under project/
    deploy, deploy/nats.conf   is a page under files/ that shows what is in it
    docs/adr                   is a list of the decisions
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs import navigation
from docs.navigation import DOCS, ROOT

LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"^ *```.*?^ *```[^\n]*$", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".sql": "sql", ".service": "ini"}
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
"""Before a page that shows a file: who searches wants the page about it."""
NOT_SHOWN = {"__pycache__", "secrets", ".env"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    named = [{name: page} for page, (name, _) in navigation.LOOK_UP.items()]
    at = next(number for number, entry in enumerate(named) if "reference/providers.md" in entry.values())
    providers = [f"reference/providers/{page.name}" for page in sorted((DOCS / "reference/providers").glob("*.md"))]
    reference: list[Any] = [*named[:at], {"Providers": ["reference/providers.md", *providers]}, *named[at + 1 :]]
    config.nav = [
        {"Start": ["index.md", {"Tutorial": "tutorial.md"}]},
        {"How to": [{group: _named(pages)} for group, pages in navigation.howto_pages().items()]},
        {"Runbooks": [{name: page} for page, name in navigation.runbooks().items()]},
        {"Reference": reference},
        {"Explanation": [*_named(navigation.UNDERSTAND), {"Decisions": ["adr/index.md", *navigation.adrs()]}]},
        {"Project": [{name: _project_page(page)} for page, (name, _) in navigation.PROJECT.items()]},
    ]
    fence = {"name": "mermaid", "class": "moves", "format": _moves}
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [fence]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for page in navigation.PROJECT:
        files.append(File.generated(config, _project_page(page), content=(ROOT / page).read_text("utf-8")))
    rows = [f"- [{title}]({Path(page).name})" for page, title in navigation.adrs().items()]
    text = "# Decisions\n\nWhat is hard to reverse, why it is so, and what would change our mind.\n\n" + "\n".join(rows)
    files.append(File.generated(config, "adr/index.md", content=text + "\n"))
    for path in _linked():
        files.append(File.generated(config, _site_page(path), content=_shown(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs' signature
    return rewritten(markdown, page.file.src_uri)


def rewritten(markdown: str, uri: str) -> str:
    """The page with its links as they are on the site."""
    if uri == "adr/index.md" or (uri.startswith("files/") and not uri.endswith(".md.md")):
        return markdown  # made here, with the links that it needs
    home = _repository_path(uri)

    def moved(found: re.Match[str]) -> str:
        target = _resolved(home, found[1])
        return os.path.relpath(_site_page(target), Path(uri).parent) + (found[2] or "")

    return "".join(part if is_code else LINK.sub(moved, part) for is_code, part in _parts(markdown))


def _named(pages: navigation.Pages) -> list[Any]:
    return [{name: page} for page, (name, _) in pages.items()]


def _project_page(page: str) -> str:
    return f"project/{page.lower()}"


def _site_page(path: Path) -> str:
    """Where a file or folder of the repository is on the site."""
    name = str(path.relative_to(ROOT))
    if name in navigation.PROJECT:
        return _project_page(name)
    if name == "docs/adr":
        return "adr/index.md"
    if path.is_relative_to(DOCS):
        return str(path.relative_to(DOCS))
    name = name.replace("/.", "/dot-")  # MkDocs publishes no hidden file
    # Not index.md: a folder may have a file of that name.
    return f"files/{name}/folder.md" if path.is_dir() else f"files/{name}.md"


def _repository_path(uri: str) -> Path:
    if uri.startswith("files/"):
        return ROOT / uri.removeprefix("files/").removesuffix(".md")
    names = {_project_page(page): ROOT / page for page in navigation.PROJECT}
    return names.get(uri, DOCS / uri)


def _resolved(page: Path, link: str) -> Path:
    return Path(os.path.normpath(page.parent / link))


def _linked() -> list[Path]:
    """What pages lead to that is no page, with all that is inside, and so on."""
    waiting = [*DOCS.rglob("*.md"), *(ROOT / page for page in navigation.PROJECT)]
    seen, found = set(waiting), []
    while waiting:
        page = waiting.pop()
        for target in _links(page):
            for path in [target, *_inside(target)]:
                if path.exists() and path not in seen and not path.is_relative_to(DOCS):
                    seen.add(path)
                    found.append(path)
                    waiting += [path] if path.suffix == ".md" else []
    return sorted(found)


def _links(page: Path) -> list[Path]:
    prose = "".join(part for is_code, part in _parts(page.read_text("utf-8")) if not is_code)
    return [_resolved(page, link[1]) for link in LINK.finditer(prose)]


def _inside(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return [each for each in sorted(path.rglob("*")) if not NOT_SHOWN & set(each.relative_to(ROOT).parts)]


def _shown(path: Path) -> str:
    """A page for a file, or a folder, of the repository."""
    name = str(path.relative_to(ROOT))
    if path.is_dir():
        inner = [each for each in _inside(path) if each.parent == path]
        here = Path(_site_page(path)).parent
        rows = [f"- [{each.name}]({os.path.relpath(_site_page(each), here)})" for each in inner]
        return f"{UNSEARCHED}# {name}/\n\nIn the repository.\n\n" + "\n".join(rows) + "\n"
    text = path.read_text("utf-8", "replace")
    if path.suffix == ".md":
        return text
    language = LANGUAGES.get(path.suffix, "dockerfile" if path.name == "Dockerfile" else "text")
    return f"{UNSEARCHED}# {name}\n\nA file of the repository.\n\n````{language}\n{text.rstrip()}\n````\n"


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    at = 0
    for block in FENCE.finditer(text):
        yield False, text[at : block.start()]
        yield True, block[0]
        at = block.end()
    yield False, text[at:]


def _moves(source: str, *_: Any, **__: Any) -> str:
    """A state diagram as a table of moves: what draws such diagrams in a browser would come from elsewhere."""
    arrows = re.findall(r"^ *(\S+) --> (\S+): (.+)$", source, re.MULTILINE)
    begins = list(dict.fromkeys(begin for begin, _, _ in arrows))
    ends = list(dict.fromkeys(end for _, end, _ in arrows))
    moves = {(begin, end): signals for begin, end, signals in arrows}
    head = "".join(f'<th scope="col">{html.escape(end)}</th>' for end in ends)
    rows = "".join(
        f'<tr><th scope="row">{"(new)" if begin == "[*]" else html.escape(begin)}</th>'
        + "".join(f"<td>{html.escape(moves.get((begin, end), ''))}</td>" for end in ends)
        + "</tr>"
        for begin in begins
    )
    return f'<table class="moves"><thead><tr><th>from \\ to</th>{head}</tr></thead><tbody>{rows}</tbody></table>'
