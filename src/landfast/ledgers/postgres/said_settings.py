"""Settings that a handler makes by saying so, with SET or `set_config`, and how they are put back.

Not by RESET ALL, as on connections of Landfast's own: it would also undo what the user's pool sets on each connection,
such as a search_path, and for good.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from landfast.ledgers import control
from landfast.ledgers.postgres import rows, settings

_NAME = r"(TIME\s+ZONE|SESSION\s+AUTHORIZATION|AUTHORIZATION|\"?[\w.]+)"
_SET = re.compile(r"\bSET\s+(?:LOCAL\s+|SESSION\s+(?!AUTHORIZATION))?" + _NAME, re.IGNORECASE)
_RESET = re.compile(r"\bRESET\s+" + _NAME, re.IGNORECASE)
_SET_CONFIG = re.compile(r"set_config\s*\(\s*'([\w.]+)'", re.IGNORECASE)
_NO_SETTINGS = frozenset({"transaction", "constraints", "characteristics", "all"})
_ALSO_CALLED = {
    "time zone": "timezone",
    "authorization": "session_authorization",
    "session authorization": "session_authorization",
}
ROLE = "role"

Fetch = Callable[[str, Sequence[Any]], Awaitable[Sequence[Any]]]


class SaidSettings:
    """Of one transaction."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._before: dict[str, str] = {}
        """What is to be put back before the next event."""
        self._at_first: dict[str, str] = {}
        """What is to be put back before COMMIT."""

    def concern(self, statement: str) -> bool:
        """Whether the statement changes a setting that is not kept yet."""
        return any(name not in self._before for name in names_set(statement))

    async def keep(self, statement: str) -> None:
        """Before the statement is sent: remember what it is going to change."""
        names = [name for name in names_set(statement) if name not in self._before]
        if names:
            self._before |= found(await self._fetch(rows.SQL["settings_read"], [names]))
            self._at_first = self._before | self._at_first

    async def restore(self) -> None:
        """For the next event of the transaction."""
        if self._before:
            await self._fetch(rows.SQL["settings_put"], put(self._before, for_session=False))
            self._before.clear()

    async def leave(self) -> None:
        """For whoever gets the connection next. Before COMMIT: what was said for the session counts from then on, and a
        role that the handler took must not be asked whether it may write our receipts. A ROLLBACK undoes it itself."""
        if self._at_first:
            before, self._at_first = self._at_first, {}
            await self._fetch(rows.SQL["settings_put"], put(before, for_session=True))


def found(answer: Sequence[Any]) -> dict[str, str]:
    """By name, of `settings_read`. A setting with a dot in its name that nobody has set is empty, and stays so: it
    cannot be removed. Another that is not there is none: SET is also a word of UPDATE."""
    return {row["name"]: row["value"] or "" for row in answer if row["value"] is not None or "." in row["name"]}


def put(before: Mapping[str, str], *, for_session: bool) -> tuple[list[str], list[str], list[bool]]:
    """What `settings_put` takes. Those that Landfast sets itself, for its transaction, are no session's."""
    names = sorted(before, key=lambda name: name != ROLE)
    return names, [before[name] for name in names], [not for_session or name in settings.OURS for name in names]


@lru_cache(control.QUERIES)
def names_set(statement: str) -> tuple[str, ...]:
    """The settings that a statement names. One whose name is only in its values is not seen."""
    if control.verb(statement) in {"SET", "RESET"}:
        named = [*_SET.findall(statement), *_RESET.findall(statement)]
        plain = [" ".join(name.lower().strip('"').split()) for name in named]
        return tuple(_ALSO_CALLED.get(name, name) for name in plain if name not in _NO_SETTINGS)
    return tuple(name.lower() for name in _SET_CONFIG.findall(statement))
