"""SQLAlchemy: pools of the user's engines, whose connections lead to copies that are gone; and what sessions hear."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from landfast.proving.hooks.redirect import redirect
from landfast.proving.watching import RUN

_COPY = "landfast_prove_copy"
_RECORDS: list[Any] = []
"""Of pools: what leads to a copy."""


@contextmanager
def watching_sqlalchemy() -> Iterator[None]:
    """A connection that was not opened for the copy of the moment is replaced when it is asked for."""
    if find_spec("sqlalchemy") is None:
        yield
        return
    event: Any = import_module("sqlalchemy.event")
    pool: Any = import_module("sqlalchemy.pool").Pool
    session: Any = import_module("sqlalchemy.orm").Session
    hooks = ((pool, "connect", _opened), (pool, "checkout", _asked_for), (session, "after_attach", _attached))
    for hook in hooks:
        event.listen(*hook)
    try:
        yield
    finally:
        for hook in hooks:
            event.remove(*hook)


def close_stale() -> None:
    """Connections to a copy that is about to go: the user's engine opens new ones when it needs them, to wherever it
    leads by then. In the loop that they were opened in."""
    for record in _RECORDS:
        with contextlib.suppress(Exception):  # it is gone already
            record.invalidate()
    _RECORDS.clear()


def _opened(_connection: Any, record: Any) -> None:
    to = redirect()
    record.info[_COPY] = to.copy if to is not None else None
    if to is not None:
        _RECORDS.append(record)


def _attached(_session: Any, _instance: Any) -> None:
    run = RUN.get()
    if run is not None:
        run.place()  # what is sent for it later, at the end, comes from here


def _asked_for(_connection: Any, record: Any, _proxy: Any) -> None:
    to = redirect()
    if to is not None and record.info.get(_COPY) != to.copy:
        raise import_module("sqlalchemy.exc").DisconnectionError
