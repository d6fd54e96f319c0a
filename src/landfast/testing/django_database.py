"""A ledger on Django's test database: in the test's own thread and transaction, as the ORM of the test itself is."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from landfast.domain.errors import UserError

T = TypeVar("T")

SCHEME = "django"


def run_inline(target: str, call: Coroutine[Any, Any, T]) -> T:
    """On a loop in another thread, while this one does what the ledger asks for: it has the connection of the test."""
    from asgiref.sync import async_to_sync

    from landfast.ledgers.django.databases import alias_of
    from landfast.ledgers.django.inline import inline

    async def wait() -> T:
        return await call

    with inline(alias_of(target)):
        return async_to_sync(wait)()


def check_is_test_database(target: str) -> None:
    """UserError for the one that the project is configured with: pytest-django and Django's own runner put another in
    its place before a test, and this is a test without that."""
    from landfast.ledgers.django.databases import alias_of, wrapper_of

    alias = alias_of(target)
    wrapper = wrapper_of(alias, target)
    name = str(wrapper.settings_dict["NAME"])
    named = (wrapper.settings_dict.get("TEST") or {}).get("NAME")
    is_in_memory = wrapper.vendor == "sqlite" and wrapper.is_in_memory_db()
    last = name.rpartition("/")[2]
    if not (is_in_memory or last.startswith("test_") or (named and name == str(named))):
        raise UserError(
            f"landfast_ledger: Django's database {alias!r} is the configured one, {last!r}, and a test would write to"
            " it; run the tests with pytest-django and its fixture db, or say 'configured' if it is for tests already"
        )
