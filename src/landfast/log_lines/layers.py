"""Lines of the log: what is said of databases, cache, spool and journal."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from landfast.log_lines.line import ERROR, INFO, WARNING, Line, line

LAYERS: Mapping[str, Line] = MappingProxyType(
    {
        "started_without_inbox": line(
            WARNING, "error", "An intake started while the inbox was away, and opens it later."
        ),
        "started_without_database": line(WARNING, "error", "`serve` started while a database was away."),
        "store_not_opened": line(ERROR, "store error", "It answers and cannot be used as it is.", "Read the error."),
        "store_opened": line(INFO, "store", "What was away at the start has been opened."),
        "store_unsafe": line(
            ERROR,
            "store reason",
            "It could lose what it has committed, and so counts as away.",
            "Do as the reason says.",
        ),
        "store_safe": line(INFO, "store", "It is safe again."),
        "store_not_checked": line(
            ERROR, "store error", "Whether it is safe could not be found out.", "Read the error."
        ),
        "partitions_not_made": line(
            WARNING,
            "error",
            "The next partitions of the inbox are not made yet; it is tried again.",
            "Only if it goes on for days: `landfast doctor`.",
        ),
        "pooled": line(
            WARNING,
            "fix",
            "A pooler such as PgBouncer is in front of the inbox, where nobody can listen: a worker hears of what other"
            " machines took in at its next poll, within a second.",
            "Read docs/howto/pgbouncer.md.",
        ),
        "erased_again": line(
            WARNING, "count fix", "A restored database had brought back erased events; they are erased again."
        ),
        "retention_pass": line(
            INFO,
            "events bodies receipts effects bytes_freed held_back unproven",
            "What was old enough has been removed.",
        ),
        "retention_failed": line(WARNING, "error", "What is old enough was not removed; it is tried again."),
        "cache_unavailable": line(WARNING, "server error", "The shared cache does not answer; the inbox is asked."),
        "cache_available": line(INFO, "server", "The shared cache answers again."),
        "cache_refuses_marks": line(
            WARNING, "server error", "The shared cache takes no more marks.", "Give it more memory, or let it evict."
        ),
        "cache_failed": line(ERROR, "", "Looking after the shared cache met a bug of ours; it goes on."),
        "cache_distrusted": line(
            INFO, "inbox epoch", "The inbox is another or an older one: what was seen does not count."
        ),
        "cache_marks_foreign": line(
            WARNING,
            "server count",
            "The shared cache holds marks that Landfast did not write; they are not believed.",
            "Give the cache a password, and its own database number.",
        ),
        "spool_segment_adopted": line(INFO, "file count", "This process drains what an earlier one left in the spool."),
        "spool_segment_unreadable": line(ERROR, "file error", "A file of the spool cannot be read.", "Mend the disk."),
        "spool_folder_unreadable": line(
            ERROR,
            "folder error",
            "The spool's folder is gone or cannot be listed; what this process has open in it is drained all the same.",
            "Bring the folder back before the next restart.",
        ),
        "spool_key_missing": line(
            ERROR,
            "folder error",
            "Records of the spool need a master key that is not here; they stay, and the others are drained.",
            "Name the key in `seal_old`, and restart the intake.",
        ),
        "spool_record_set_aside": line(
            ERROR,
            "kept error",
            "A record that the inbox refuses is kept in a .bad file.",
            "`landfast doctor` names it.",
        ),
        "spool_record_not_set_aside": line(
            ERROR,
            "file at error",
            "It could not be kept in a file of its own, and stays where it is.",
            "Mend the disk.",
        ),
        "spool_record_damaged": line(
            ERROR,
            "file at bytes kept",
            "A record was damaged on disk, after it was acknowledged.",
            "Have its sender send again what it sent then; look at the disk.",
        ),
        "spool_tail_torn": line(WARNING, "file at bytes kept", "A crash cut a record off that was never acknowledged."),
        "journal_awaited": line(WARNING, "server error", "The broker is away; it is waited for."),
        "journal_stream_made": line(INFO, "stream replicas", "The journal's stream was missing, and is there now."),
        "journal_message_unreadable": line(
            ERROR, "subject error", "A message of the journal cannot be read, and is set aside.", "`landfast doctor`."
        ),
        "journal_key_missing": line(
            ERROR,
            "error",
            "Messages of the journal need a master key that is not here; they stay, and the others are drained.",
            "Name the key in `seal_old`, and restart.",
        ),
        "journal_messages_foreign": line(
            ERROR,
            "count kept",
            "The journal holds messages that no intake of this inbox wrote; they are set aside.",
            "Give the broker a password.",
        ),
    }
)
