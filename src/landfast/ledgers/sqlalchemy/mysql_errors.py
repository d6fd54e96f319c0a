"""What errors of Landfast's own statements mean on a connection of SQLAlchemy's to MySQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from landfast.domain.errors import LedgerUnavailableError
from landfast.ledgers.mysql import faults


@contextmanager
def own_statement() -> Iterator[None]:
    """Whatever is wrong with a statement of Landfast's own is not the handler's fault."""
    try:
        yield
    except SQLAlchemyError as error:
        plain = error.orig if isinstance(error, DBAPIError) else None
        if isinstance(plain, faults.ANY):
            raise faults.own(plain) from error
        raise LedgerUnavailableError(f"ledger: the engine gives no connection ({error})") from error
    except faults.ANY as error:
        if faults.is_conflict(error) and faults.code(error) != faults.LOCK_WAIT:
            raise
        raise faults.own(error) from error
