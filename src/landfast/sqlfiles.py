"""SQL lives in `.sql` files, one statement each; a driver reads its own folder once."""

from __future__ import annotations

import re
from importlib import resources
from typing import NamedTuple


class Migration(NamedTuple):
    number: int
    name: str
    sql: str


def statements(package: str, folder: str = "sql") -> dict[str, str]:
    """Every statement of a driver by its file's name, comments and all."""
    files = resources.files(package).joinpath(folder).iterdir()
    return {file.name.removesuffix(".sql"): file.read_text("utf-8") for file in files if file.name.endswith(".sql")}


def migrations(package: str, folder: str = "migrations") -> list[Migration]:
    """`0001_name.sql`, `0002_name.sql`, ... in order, with no gap."""
    files = sorted(resources.files(package).joinpath(folder).iterdir(), key=lambda file: file.name)
    found = [
        Migration(int(match[1]), match[2], file.read_text("utf-8"))
        for file in files
        if (match := re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name))
    ]
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise AssertionError(f"{package}.{folder}: the numbers of the migrations have a gap")
    return found
