"""How long a ledger waits, and why no longer."""

from __future__ import annotations

RECEIPT_WAIT = 1.0
"""Seconds for a receipt that another transaction holds. Most handlers end within it; for the others it is cheaper to
give the event back than to keep a connection waiting."""

STOPPED_GRACE = 5.0
"""Seconds after a handler's deadline at which the server ends a transaction that fell silent. Less would race with
our own cancellation and rollback, more would keep the successor of a stopped worker waiting."""

ANSWER_WAIT = 10.0
"""Seconds for the server's answer to one of our own statements, none of which takes a tenth of a second. A network
that swallows packets gives no error: this turns it into one."""

CONNECT_WAIT = 5.0
"""Seconds to connect, for the same reason."""

MIGRATION_WAIT = 600.0
"""Seconds for one migration: it may have to rewrite a large table."""
