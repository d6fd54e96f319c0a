"""Lines of the log: what processes say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from landfast.log_lines.line import ERROR, INFO, WARNING, Line, line

PROCESSES: Mapping[str, Line] = MappingProxyType(
    {
        "process_ready": line(INFO, "role pid", "A process of `serve` is ready."),
        "process_ended": line(WARNING, "role pid code", "A process of `serve` ended, and is replaced unless we stop."),
        "process_not_started": line(
            ERROR, "role error", "A process could not be started; it is tried again.", "Read the error."
        ),
        "admin_port_taken": line(
            WARNING,
            "error",
            "Another server has the port of the admin API; this one goes on without it.",
            "Set `admin_port`, or `--no-admin`.",
        ),
        "admin_closed": line(
            WARNING,
            "host fix",
            "The admin API would listen beyond this machine, and there is no token: it does not.",
            "Make a token, then restart.",
        ),
        "oidc_refused": line(
            WARNING,
            "reason",
            "Somebody came from the identity provider of `[admin.oidc]`, or wanted to go there, and was not let in.",
            "The reason says what is wrong: a setting, a group without a role, a clock.",
        ),
        "admin_question_failed": line(
            ERROR, "error", "A question of the admin API met something that Landfast did not foresee.", "Report it."
        ),
        "start_delayed": line(WARNING, "error", "A process cannot work yet, and is tried again."),
        "stopping": line(INFO, "count fix", "Ctrl-C was pressed; so many processes finish what they have in hand."),
        "reload_begun": line(INFO, "folder", "Processes are replaced, one after the other."),
        "reload_done": line(INFO, "", "All processes are new."),
        "reload_refused": line(
            ERROR, "reason", "The application cannot start as it is; the old processes go on.", "Mend it."
        ),
        "reload_broken_off": line(
            ERROR, "", "A new process did not get ready; the old ones go on.", "Read the lines before."
        ),
        "claims_given_back": line(INFO, "events effects", "What a dead worker had claimed is given back."),
        "claims_not_given_back": line(WARNING, "error", "It could not be given back; its leases end by themselves."),
        "loop_blocked": line(
            ERROR,
            "seconds",
            "A handler blocks the event loop beyond its deadline; its worker is killed.",
            "Write it as `def`, or let it await.",
        ),
        "mount_not_opened": line(
            ERROR, "error", "The mounted inbox cannot be opened, and answers 503.", "Read the error."
        ),
        "route_not_settled": line(
            WARNING,
            "count error",
            "A route has answered, and the inbox could not be told; if the sender comes again, the route runs again.",
            "Read the error.",
        ),
        "mount_close_failed": line(ERROR, "", "The mounted inbox met an error while it closed."),
    }
)
