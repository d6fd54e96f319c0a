"""How a ledger's transaction begins: statements without values, sent together in one round trip.

Only SET LOCAL: behind PgBouncer the session is not ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from landfast.ledgers import limits

LOCK_WAIT = str(round(limits.RECEIPT_WAIT * 1000))
"""Milliseconds for what Landfast itself locks."""

WAIT = f"SET LOCAL lock_timeout = {LOCK_WAIT}"

RELAX = "SET LOCAL lock_timeout TO DEFAULT"
"""Once the receipts are ours, the locks are the handler's, and so is the time that it waits for them."""

RESET = ("RESET SESSION AUTHORIZATION", "RESET ROLE", "RESET ALL")
"""What the session began with; `RESET ALL` leaves the first two, and the first takes the role along."""


def begin(isolation: str, *, silence: float) -> tuple[str, ...]:
    return (f"BEGIN ISOLATION LEVEL {isolation} READ WRITE", *local(silence=silence), WAIT)


@lru_cache
def local(*, silence: float) -> tuple[str, ...]:
    """What every transaction of ours needs, whatever the server, the role or a handler has set."""
    return tuple(f"SET LOCAL {name} = '{value}'" for name, value in values(silence=silence).items())


@lru_cache  # before each event of a group it is asked for, and changes with the deadline of the handler alone
def values(*, silence: float) -> Mapping[str, str]:
    return {
        # A receipt that a crash of the server can undo would let the handler run twice.
        "synchronous_commit": "on",
        # A worker that was stopped holds its receipts no longer than this.
        "idle_in_transaction_session_timeout": str(_milliseconds(silence)),
        # A worker that died during a statement is noticed while the statement still runs ...
        "client_connection_check_interval": "2s",
        # ... and a machine that vanished, within half a minute.
        "tcp_keepalives_idle": "10",
        "tcp_keepalives_interval": "5",
        "tcp_keepalives_count": "3",
    }


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))  # 0 would mean for ever


OURS = frozenset({"lock_timeout", *values(silence=0)})
"""What is set for the transaction alone."""
