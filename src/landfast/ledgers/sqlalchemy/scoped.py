"""A scoped_session, as Flask-SQLAlchemy's `db.session` is one: in a handler it is the handler's session."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from sqlalchemy.orm import scoped_session

from landfast.ledgers.sqlalchemy.noticing import RUNNING


class Scoped:
    """Whatever asks for a session where a handler runs, in whichever application context, is given the handler's."""

    def __init__(self, scoped: scoped_session[Any] | None) -> None:
        self._registry: Any = None if scoped is None else scoped.registry
        self._makes: Callable[[], Any] | None = None

    def start(self) -> None:
        if self._registry is not None and self._makes is None:
            self._makes = self._registry.createfunc
            self._registry.createfunc = self._make

    def stop(self) -> None:
        if self._registry is not None and self._makes is not None:
            self._registry.createfunc, self._makes = self._makes, None

    def _make(self) -> Any:
        fence = RUNNING.get()
        if fence is not None and fence.is_up and fence.session is not None:
            return fence.session()
        return self._makes() if self._makes is not None else None


def forget(scoped: scoped_session[Any] | None) -> None:
    """In the lane, between two events: its thread goes on, and the session of the last one must not."""
    if scoped is not None:
        with contextlib.suppress(RuntimeError):  # Flask's word for no application context, where there is none either
            scoped.registry.clear()
