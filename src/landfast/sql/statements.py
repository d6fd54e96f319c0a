"""The statements, and what their answers mean. Pure: each generator yields a statement and is sent its answer.

Placeholders are $1, $2; `kinds` writes them as a driver wants them.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from landfast.domain.errors import UserError
from landfast.sql.outcome import Outcome

POSTGRESQL, SQLITE, MYSQL = "postgresql", "sqlite", "mysql"

MOVES_AT_MOST = 3
"""A state that was legal when it was read, and not a moment before: tried again so often. Another one moves it, too."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}")
_DIFFERS = {POSTGRESQL: "{0} IS DISTINCT FROM {1}", SQLITE: "{0} IS NOT {1}", MYSQL: "NOT ({0} <=> {1})"}


class Statement(NamedTuple):
    text: str
    values: Sequence[Any] = ()
    returns_rows: bool = False
    """Otherwise how many rows it changed is sent back."""


Work = Generator[Statement, Any, Outcome]


def insert_once(dialect: str, table: str, values: Mapping[str, Any], key: Sequence[str]) -> Work:
    for column in key:
        if values.get(column) is None:
            raise UserError(f"insert_once({table}): the key {column} has no value; NULL is never equal to anything")
    named = _Named(dialect)
    columns = ", ".join(named.name(column) for column in values)
    into = f"INSERT INTO {named.table(table)} ({columns}) VALUES ({', '.join(map(named.value, values.values()))})"  # noqa: S608 - names are checked
    keys = ", ".join(map(named.name, key))
    if dialect != MYSQL:
        count = yield Statement(f"{into} ON CONFLICT ({keys}) DO NOTHING", named.values)
        return Outcome("inserted" if count else "was there")
    # What it counts depends on a flag of the connection, and IGNORE would swallow other errors. So it says so itself.
    first = named.name(key[0])
    yield Statement("SET @landfast_was_there = 0")
    yield Statement(
        f"{into} ON DUPLICATE KEY UPDATE {first} = IF((@landfast_was_there := 1) = 1, {first}, {first})", named.values
    )
    ((was_there,),) = yield Statement("SELECT @landfast_was_there", (), returns_rows=True)
    if was_there and not (yield _find(dialect, table, "1", {column: values[column] for column in key})):
        raise UserError(f"insert_once({table}): another unique column than {', '.join(key)} has this value already")
    return Outcome("was there" if was_there else "inserted")


def set_if_different(dialect: str, table: str, values: Mapping[str, Any], where: Mapping[str, Any]) -> Work:
    named = _Named(dialect)
    given = {named.name(column): named.value(value) for column, value in values.items()}
    _check(f"set_if_different({table})", values, where)
    differs = " OR ".join(_DIFFERS[dialect].format(column, place) for column, place in given.items())
    text = f"UPDATE {named.table(table)} SET {_pairs(given)} WHERE {named.where(where)} AND ({differs})"  # noqa: S608 - names are checked
    if (yield Statement(text, named.values)):
        return Outcome("changed")
    return Outcome("same" if (yield _find(dialect, table, "1", where)) else "missing")


def transition(
    dialect: str,
    table: str,
    column: str,
    to: Any,
    allowed: Sequence[Any],
    where: Mapping[str, Any],
    values: Mapping[str, Any],
) -> Work:
    if not allowed or to in allowed:
        raise UserError(
            f"transition({table}): allowed_from names the states before {to!r}, at least one, and not itself"
        )
    _check(f"transition({table})", {column: to}, where)
    state: Any = None
    for _ in range(MOVES_AT_MOST):
        named = _Named(dialect)
        given = {named.name(one): named.value(value) for one, value in {column: to, **values}.items()}
        legal = ", ".join(map(named.value, allowed))
        guard = f"{named.where(where)} AND {named.name(column)} IN ({legal})"
        text = f"UPDATE {named.table(table)} SET {_pairs(given)} WHERE {guard}"  # noqa: S608 - names are checked
        if (yield Statement(text, named.values)):
            return Outcome("moved")
        found = yield _find(dialect, table, named.name(column), where)
        if not found:
            return Outcome("missing")
        state = found[0][0]
        if state not in allowed:
            break
    return Outcome("same" if state == to else "illegal", state)


def _find(dialect: str, table: str, what: str, where: Mapping[str, Any]) -> Statement:
    named = _Named(dialect)
    condition = named.where(where)
    text = f"SELECT {what} FROM {named.table(table)} WHERE {condition}"  # noqa: S608 - names are checked
    return Statement(text, named.values, returns_rows=True)


def _check(what: str, values: Mapping[str, Any], where: Mapping[str, Any]) -> None:
    if not values:
        raise UserError(f"{what}: there is nothing to set; name at least one column")
    if not where:
        raise UserError(f"{what}: where is empty, which would be every row; name the row")
    for column, value in where.items():
        if value is None:
            raise UserError(f"{what}: where: {column} has no value; NULL is never equal to anything")


def _pairs(given: Mapping[str, str]) -> str:
    return ", ".join(f"{column} = {place}" for column, place in given.items())


class _Named:
    """Names in quotes, checked, and values with their places."""

    def __init__(self, dialect: str) -> None:
        self._quote = "`" if dialect == MYSQL else '"'
        self.values: list[Any] = []

    def table(self, name: str) -> str:
        parts = name.split(".") if isinstance(name, str) else [name]
        return ".".join(map(self.name, parts[:2] if len(parts) <= 2 else [name]))

    def name(self, name: str) -> str:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise UserError(f"sql: {name!r} is no name of a table or column; write letters, digits and _ alone")
        return f"{self._quote}{name}{self._quote}"

    def value(self, value: Any) -> str:
        self.values.append(value)
        return f"${len(self.values)}"

    def where(self, where: Mapping[str, Any]) -> str:
        return " AND ".join(f"{self.name(column)} = {self.value(value)}" for column, value in where.items())


def numbered(text: str, form: str) -> tuple[str, list[int]]:
    """The text with its places written as `form`, and their numbers in the order in which they stand."""
    order: list[int] = []

    def write(match: re.Match[str]) -> str:
        order.append(int(match[1]))
        return form.format(match[1])

    return re.sub(r"\$(\d+)", write, text), order


def positions(order: Iterable[int], values: Sequence[Any]) -> list[Any]:
    return [values[number - 1] for number in order]
