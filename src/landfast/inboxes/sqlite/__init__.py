"""The inbox in one SQLite file: the embedded default."""

from landfast.inboxes.sqlite.inbox import SqliteInbox

__all__ = ["SqliteInbox"]
