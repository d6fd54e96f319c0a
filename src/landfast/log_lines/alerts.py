"""Lines of the log: what is said about alerts, and about functions that hear of dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from landfast.log_lines.line import ERROR, INFO, WARNING, Line, line

ALERTS: Mapping[str, Line] = MappingProxyType(
    {
        "alert_firing": line(
            WARNING, "alert reason fix runbook", "Something is wrong; the sinks are told.", "What `fix` says."
        ),
        "alert_repeated": line(WARNING, "alert reason fix runbook", "It is still so.", "What `fix` says."),
        "alert_resolved": line(INFO, "alert reason", "It was not found any more for a while."),
        "alert_sent": line(INFO, "sink notice", "A sink has taken a notice."),
        "alert_not_sent": line(
            WARNING,
            "sink notice error retry_seconds",
            "A sink did not take a notice; it is tried again for a day.",
            "`landfast alerts test` says what the sink answers.",
        ),
        "alert_lost": line(
            ERROR, "sink notice error", "A notice was given up.", "`landfast alerts list` still has it; mend the sink."
        ),
        "alert_recipients_refused": line(
            WARNING,
            "sink notice error",
            "The mail server has taken a notice for some recipients, and refuses others for good, or has refused them"
            " for an hour: they do not get it.",
            "Read what the server says; correct `to` of the sink.",
        ),
        "alert_not_made": line(ERROR, "sink", "A notice met a bug of ours, or of a library; it is tried again."),
        "alert_sink_unusable": line(
            ERROR, "sink error", "A sink cannot be used as it is set; all others are.", "Read the error."
        ),
        "alerts_not_brought": line(WARNING, "sink error", "The inbox is away, and with it what waits to be sent."),
        "alerts_not_evaluated": line(WARNING, "error", "Nobody could look for alerts; it is tried again."),
        "alerts_failed": line(ERROR, "", "Looking for alerts met a bug of ours; it is tried again."),
        "dead_hook_failed": line(
            WARNING,
            "hook event error retry_seconds",
            "A function of `on_dead` failed; it is called again.",
            "Read the place in its error.",
        ),
        "dead_hook_gave_up": line(
            ERROR,
            "hook event error",
            "A function of `on_dead` failed for three days, or gave up; that dead letter is not told any more.",
            "Mend it; the dead letter is in `landfast dead list`.",
        ),
        "dead_letters_not_walked": line(WARNING, "error", "Dead letters could not be looked for; it is tried again."),
        "dead_hooks_failed": line(ERROR, "", "Telling of dead letters met a bug of ours; it is tried again."),
    }
)
