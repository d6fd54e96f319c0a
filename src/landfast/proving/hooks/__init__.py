"""Where the prover looks in on Python and on database drivers: all of it for as long as a proof takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from landfast.proving.hooks.outward import watch_outward

_watching: list[bool] = []


@contextmanager
def watching_everything() -> Iterator[None]:
    """Connections to the user's database lead to the copy, and what handlers do outside of it is noticed. Begun before
    the user's modules are imported, it also sees what they import by name."""
    if _watching:
        yield
        return
    _watching.append(True)
    try:
        with _patched():
            yield
    finally:
        _watching.clear()


@contextmanager
def _patched() -> Iterator[None]:
    from landfast.proving.hooks.asyncpg_driver import watching_asyncpg
    from landfast.proving.hooks.psycopg_driver import watching_psycopg
    from landfast.proving.hooks.psycopg_pools import watching_psycopg_pools
    from landfast.proving.hooks.sqlalchemy_driver import watching_sqlalchemy
    from landfast.proving.hooks.sqlite_driver import watching_sqlite

    with watching_asyncpg(), watching_psycopg(), watching_psycopg_pools(), watching_sqlite(), watching_sqlalchemy():
        watch_outward(is_on=True)
        try:
            yield
        finally:
            watch_outward(is_on=False)
