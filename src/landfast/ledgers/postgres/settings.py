"""How a ledger's transaction begins: statements without values, sent together in one round trip.

Only SET LOCAL: behind PgBouncer the session is not ours.
"""

from __future__ import annotations

from landfast.ledgers import limits

WAIT = f"SET LOCAL lock_timeout = {round(limits.RECEIPT_WAIT * 1000)}"
"""So long for what Landfast itself locks."""

RELAX = "SET LOCAL lock_timeout TO DEFAULT"
"""Once the receipts are ours, the locks are the handler's, and so is the time that it waits for them."""

RESET = ("RESET SESSION AUTHORIZATION", "RESET ROLE", "RESET ALL")
"""What the session began with; `RESET ALL` leaves the first two, and the first takes the role along."""


OURS = frozenset(
    {"lock_timeout", "synchronous_commit", "idle_in_transaction_session_timeout", "client_connection_check_interval"}
    | {"tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count"}
)
"""What the statements below set, for the transaction alone."""


def begin(isolation: str, *, silence: float) -> tuple[str, ...]:
    return (f"BEGIN ISOLATION LEVEL {isolation} READ WRITE", *local(silence=silence), WAIT)


def local(*, silence: float) -> tuple[str, ...]:
    """What every transaction of ours needs, whatever the server, the role or a handler has set."""
    return (
        # A receipt that a crash of the server can undo would let the handler run twice.
        "SET LOCAL synchronous_commit = on",
        # A worker that was stopped holds its receipts no longer than this.
        f"SET LOCAL idle_in_transaction_session_timeout = {_milliseconds(silence)}",
        # A worker that died during a statement is noticed while the statement still runs ...
        "SET LOCAL client_connection_check_interval = '2s'",
        # ... and a machine that vanished, within half a minute.
        "SET LOCAL tcp_keepalives_idle = 10",
        "SET LOCAL tcp_keepalives_interval = 5",
        "SET LOCAL tcp_keepalives_count = 3",
    )


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))  # 0 would mean for ever
