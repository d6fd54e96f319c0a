"""Whether a handler and the ledger fit together: known when it is registered, not at its first event."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from landfast.domain.errors import ConfigError
from landfast.drivers import LedgerDriver
from landfast.processing.handlers.parameters import Asked, asked_by, asked_by_step


def asked_of_ledger(function: Callable[..., Any], what: str, driver: LedgerDriver) -> Asked:
    """What the function is given besides the event. ConfigError where this ledger cannot give it."""
    _must_run_there(function, what, driver)
    return asked_by(function, what, driver.offers, driver.title)


def asked_of_ledger_by_step(function: Callable[..., Any], what: str, driver: LedgerDriver) -> Asked | None:
    """The same of an effect, which is given a transaction only if it asks for one."""
    asked = asked_by_step(function, driver.offers)
    if asked is not None:
        _must_run_there(function, what, driver)
    return asked


def _must_run_there(function: Callable[..., Any], what: str, driver: LedgerDriver) -> None:
    is_async = inspect.iscoroutinefunction(function)
    if ("async" if is_async else "sync") not in driver.runs:
        written, instead = ("async def", "def") if is_async else ("def", "async def")
        raise ConfigError(
            f"{what}: it is written with {written}, and the transactions of a {driver.title} ledger are for handlers"
            f" that are written with {instead}; write {instead}, or give Landfast the other kind of engine"
        )
