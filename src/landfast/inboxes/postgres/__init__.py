"""The inbox on PostgreSQL."""

from landfast.inboxes.postgres.inbox import PostgresInbox

__all__ = ["PostgresInbox"]
