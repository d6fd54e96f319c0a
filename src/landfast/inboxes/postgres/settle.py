"""The workers' part: write what attempts came to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Settlement
from landfast.inboxes.postgres import boxes, rows
from landfast.inboxes.postgres.connection import Connection, Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.sealing import Seal
from landfast.sealing.values import tells

LONGEST_DELAY = 10 * 365 * 86_400.0
"""Ten years: what a handler asks for may be any number, and the calendar ends."""

_Column = Callable[[Settlement], object]

_TRACE: tuple[_Column, ...] = (
    lambda one: one.event_id,
    lambda one: one.run,
    lambda one: rows.attempts_json(one.attempts),
    lambda one: rows.text(one.reason),
)
_TOKEN: _Column = lambda one: one.token  # noqa: E731 - a column among columns
_FAILURE: tuple[_Column, ...] = (
    lambda one: rows.tries_json(one.tries),
    lambda one: rows.text(one.handler),
    lambda one: rows.text(one.error),
    lambda one: rows.text(one.message),
)
_DELAY: tuple[_Column, ...] = (lambda one: one.signal, lambda one: min(one.due_in, LONGEST_DELAY))


class _Kind(NamedTuple):
    """A statement and the columns that it unnests, in its order."""

    statement: str
    columns: tuple[_Column, ...]


_FINISH = _Kind("settle_finish", (*_TRACE, lambda one: rows.handlers_text(one.handlers)))
_BURY = _Kind("settle_bury", (*_TRACE, *_FAILURE))
_RELEASE = _Kind("settle_release", (*_TRACE, _TOKEN, _FAILURE[0]))
_DELAYED = _Kind("settle_delay", (*_TRACE, *_FAILURE, _TOKEN, *_DELAY))
_SHELVE = _Kind("settle_shelve", (*_TRACE, *_FAILURE, _TOKEN))
_DISMISS = _Kind("settle_dismiss", (*_TRACE, _TOKEN))
_REFUSE = _Kind("settle_refuse", (*_TRACE, *_FAILURE, _TOKEN))
_PAUSE = _Kind("settle_pause", (*_TRACE, *_FAILURE, _TOKEN))

_KINDS = {
    Signal.FINISH: _FINISH,
    Signal.BURY: _BURY,
    Signal.RELEASE: _RELEASE,
    Signal.POSTPONE: _DELAYED,
    Signal.RETRY: _DELAYED,
    Signal.SHELVE: _SHELVE,
    Signal.DISMISS: _DISMISS,
    Signal.REFUSE: _REFUSE,
    Signal.PAUSE: _PAUSE,
}


class Settling:
    def __init__(self, connections: Connections, seal: Seal) -> None:
        self._connections = connections
        self._seal = seal

    async def settle(self, settlements: Sequence[Settlement]) -> Sequence[bool]:
        groups = _grouped(settlements)
        took_effect = [False] * len(settlements)
        if not groups:
            return took_effect
        if self._seal.is_on and any(map(tells, settlements)):
            async with self._connections.working() as connection:
                settlements = await boxes.seal_settlements(connection, self._seal, settlements)
        # Dead before the COMMIT: the leases expire, and the next claims find the receipts and settle by them.
        if len(groups) == 1:
            async with self._connections.working() as connection:
                await _apply(connection, groups, settlements, took_effect)
        else:
            async with self._connections.transaction() as connection:
                await _apply(connection, groups, settlements, took_effect)
        return took_effect


async def settle_unread(connection: Connection, settlements: Sequence[Settlement]) -> None:
    """What a claim comes to that no handler ever sees."""
    await _apply(connection, _grouped(settlements), settlements, [False] * len(settlements))


def _grouped(settlements: Sequence[Settlement]) -> dict[_Kind, list[int]]:
    groups: dict[_Kind, list[int]] = {}
    # Sorted, so that a zombie and its successor who settle the same events take the rows in one order.
    for place in sorted(range(len(settlements)), key=lambda place: settlements[place].event_id):
        groups.setdefault(_KINDS[settlements[place].signal], []).append(place)
    return groups


async def _apply(
    connection: Connection, groups: dict[_Kind, list[int]], settlements: Sequence[Settlement], took_effect: list[bool]
) -> None:
    for kind, places in groups.items():
        columns = [[column(settlements[place]) for place in places] for column in kind.columns]
        for row in await connection.fetch(SQL[kind.statement], *columns):
            took_effect[places[row["place"] - 1]] = True
