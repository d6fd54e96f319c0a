"""The settings of a session that is lent to us: MySQL has none of a transaction, so they are put back at its end."""

from __future__ import annotations

import math

from landfast.domain.errors import ConfigError
from landfast.ledgers import limits

WAIT = f"SET SESSION innodb_lock_wait_timeout = {round(limits.RECEIPT_WAIT)}"
RELAX = "SET SESSION innodb_lock_wait_timeout = @landfast_lock_wait"
"""Once the receipts are ours, the locks are the handler's, and so is the time that it waits for them."""
RESTORE = f"{RELAX}, SESSION wait_timeout = @landfast_wait"


def lend(silence: float) -> str:
    return (
        "SET @landfast_lock_wait = @@SESSION.innodb_lock_wait_timeout, @landfast_wait = @@SESSION.wait_timeout,"
        f" SESSION innodb_lock_wait_timeout = {round(limits.RECEIPT_WAIT)},"
        # A worker that was stopped holds its receipts no longer than this.
        f" SESSION wait_timeout = {math.ceil(silence)}"
    )


def must_speak_all(charset: str) -> None:
    if charset != "utf8mb4":
        raise ConfigError(
            f"ledger: the engine's connections speak {charset}, which cannot write every name; "
            "write charset=utf8mb4 in its address"
        )
