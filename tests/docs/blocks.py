"""The blocks of code of all pages, and who runs each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

PLAYED_BY = {
    "docs/tutorial.md": "tests/docs/test_tutorial.py",
    "docs/reference/commands.md": "tests/docs/test_pages.py",
    "docs/howto/assistants.md": "tests/docs/test_assistants_page.py",
    "docs/howto/backup.md": "tests/docs/test_backup_page.py",
    "docs/howto/psycopg.md": "tests/docs/test_psycopg_page.py",
    "docs/howto/proxies.md": "tests/docs/test_proxies_page.py",
    "docs/howto/django.md": "tests/docs/test_django_page.py",
    "docs/howto/mysql.md": "tests/docs/test_mysql_page.py",
    "docs/howto/sqlalchemy.md": "tests/docs/test_sqlalchemy_page.py",
    "docs/howto/test.md": "tests/testing/test_page.py",
    "docs/howto/listen.md": "tests/listening/test_page.py",
    "docs/howto/local-development.md": "tests/docs/test_local_development.py",
    "docs/howto/prove-a-handler.md": "tests/proving/test_page.py",
}
"""Pages that a test plays from their beginning to their end, as a reader would. The test reads the page."""

MARKER = re.compile(r"<!-- not run: (.{10,}) -->\n\Z")
"""Stands on the line before a block that nobody can run here, and says why."""

SHELL = {"", "sh", "bash", "console"}
OTHERS = ("docker", "kubectl", "systemctl", "useradd", "install", "cp", "pg_dump", "pg_restore", "psql", "curl", "for")
PREPARATIONS = {
    "export": "a variable for what follows",
    "echo": "a file for what follows",
    "cd": "where the reader goes",
    "mkdir": "where the reader goes",
    "make": "test_project.py looks whether it can be made",
    "pip": "test_packaging.py installs in an empty virtualenv",
    "python3 -m venv": "test_packaging.py does",
    ".venv/bin/python -m pytest": "the tests themselves",
    "POSTGRES_BIN": "the tests themselves",
}
"""How a line may begin that is no command of ours, with who else looks after it."""


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    kind: str
    text: str
    reason: str
    """Why nobody runs it, if the page says so."""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """What is typed: without prompts, notes behind it, and what is printed."""
        text = re.sub(r"\s*\\\n\s*", " ", self.text)
        lines = [line.strip() for line in text.splitlines()]
        if self.kind == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        bare = [re.split(r"\s{2,}|\s+#\s", line, maxsplit=1)[0] for line in lines if line and line[0] != "#"]
        return [each for line in bare for each in line.split(" && ")]

    @property
    def is_typed(self) -> bool:
        """A shell's, and not what a program prints or how something is laid out."""
        words = ("landfast", *OTHERS, *(start.split(maxsplit=1)[0] for start in PREPARATIONS))
        return self.kind in SHELL and any(re.split(r"[ =]", line, maxsplit=1)[0] in words for line in self.commands)


def blocks(*pages: Path) -> Iterator[Block]:
    for page in pages or PAGES:
        text = page.read_text("utf-8")
        for found in re.finditer(r"^( *)```(\w*)\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL):
            marked = MARKER.search(text[: found.start()])
            line = text.count("\n", 0, found.start()) + 1
            yield Block(page, line, found[2], found[3], marked[1] if marked else "")
