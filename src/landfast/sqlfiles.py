"""SQL lives in `.sql` files, one statement each; a driver reads its own folder once. Migrations are numbered."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import NamedTuple

from landfast.domain.errors import ConfigError


class Migration(NamedTuple):
    number: int
    name: str
    sql: str

    @property
    def label(self) -> str:
        return f"{self.number:04}_{self.name}"

    @contextmanager
    def applying(self, store: str, *refusals: type[Exception]) -> Iterator[None]:
        """Around its statements: what the database refuses is a ConfigError that names the migration."""
        try:
            yield
        except refusals as error:
            message = f"{store}: the migration {self.label} failed ({error}); the schema is as it was"
            raise ConfigError(message) from error


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


def missing(known: Sequence[Migration], applied: Collection[int]) -> list[Migration]:
    """Those to apply, in order; a driver applies them in one transaction and notes the number of each."""
    return [migration for migration in known if migration.number not in applied]


def behind(store: str, known: Sequence[Migration], applied: Collection[int]) -> list[str]:
    """The one sentence about a schema that lacks migrations, if it does."""
    lacking = len(missing(known, applied))
    some = "1 migration" if lacking == 1 else f"{lacking} migrations"
    return [f"{store}: the schema is behind by {some}; run landfast migrate"] if lacking else []


def newer(store: str, known: Sequence[Migration], applied: Collection[int]) -> list[str]:
    """The one sentence about a schema that has migrations of a later version, if it does."""
    if set(applied) <= {migration.number for migration in known}:
        return []
    return [f"{store}: the schema is newer than this Landfast; install the version that made it"]
