"""Lines of the log: what intake says."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from landfast.log_lines.line import ERROR, INFO, WARNING, Line, line

INTAKE: Mapping[str, Line] = MappingProxyType(
    {
        "stored": line(INFO, "source type key event", "A new event is in the inbox, and the sender may be answered."),
        "rejected": line(
            "info warning",
            "source status path cause reason others",
            "A request was refused. It is a warning if a secret of yours made the signature.",
            "Read the reason. `landfast verify-signature` says more about one request.",
        ),
        "answers_not_found": line(
            "warning error",
            "error",
            "Callers of an endpoint are told 202: a database cannot say what became of their calls.",
            "Bring it back; workers have lines of their own about it.",
        ),
        "request_failed": line(ERROR, "source others", "A request met a bug of ours and was answered 500."),
        "diagnosis_failed": line(
            ERROR, "source", "Why a signature was refused could not be found out, by a bug of ours."
        ),
        "secret_in_use": line(INFO, "source secret", "Requests are signed with this secret; told once an hour."),
        "held_late": line(
            WARNING,
            "source key event occurred_at others",
            "An event is older than the dedup memory, and is held.",
            "`landfast held list`: admit or discard it.",
        ),
        "held_variant": line(
            ERROR,
            "source key event variant others",
            "Another body came under a known key, and is held.",
            "Ask the sender which one is right; `landfast held list`.",
        ),
        "held_disproven": line(
            ERROR,
            "source key event others",
            "Another body came under a proof that was used before, and is held.",
            "Somebody may replay a captured request; `landfast held list`.",
        ),
        "held_retyped": line(
            ERROR,
            "source key event variant others",
            "A known body came under another type that nobody signed; it is held.",
            "Somebody may replay a captured request; `landfast held list`.",
        ),
        "delivery_refused": line(
            ERROR,
            "source event error",
            "The inbox refuses this row; the sender is told 500, its neighbours are stored.",
            "Read the error. `landfast doctor` says what is wrong with the inbox.",
        ),
        "refused_request_waits": line(
            WARNING, "error", "The rest of a request with a refused row could not be stored; its sender comes again."
        ),
        "recording_failed": line(ERROR, "count", "A batch met a bug of ours; its senders were answered 500."),
        "recording_unavailable": line(
            WARNING,
            "error",
            "Nothing can be stored, and senders are answered 503.",
            "Bring the inbox back, or set a spool.",
        ),
        "after_commit_failed": line(
            ERROR, "", "What is stored is not remembered, or workers were not woken: slower only."
        ),
        "answer_failed": line(ERROR, "", "A connection could not be told its answer; its sender comes again."),
        "only_refusals": line(
            WARNING,
            "source count seconds cause fix",
            "Everything that came for this source was refused, for five minutes and more.",
            "Do as the fix says; `landfast rejected list` shows what was refused.",
        ),
        "rates_not_reported": line(WARNING, "error", "Rates and heartbeats of this process are told later."),
        "reporting_failed": line(ERROR, "", "Telling the rates met a bug of ours; it goes on."),
        "tally_not_reported": line(WARNING, "error", "The counts of this process are kept for the next report."),
        "store_unavailable": line(
            WARNING,
            "store error then",
            "The inbox or the journal cannot be reached.",
            "Bring it back; nothing is lost.",
        ),
        "store_available": line(INFO, "store waiting", "It is back; what the spool took is brought into the inbox."),
        "delivery_set_aside": line(
            ERROR,
            "source event error",
            "The inbox refuses a delivery of the spool or journal; it is set aside.",
            "`landfast doctor` names it.",
        ),
        "drain_failed": line(ERROR, "", "Bringing records into the inbox met a bug of ours, and is tried again."),
        "key_not_fetched": line(
            WARNING,
            "address error",
            "A key that a provider publishes cannot be fetched; its requests are told 503.",
            "Allow outgoing HTTPS to the address.",
        ),
        "key_not_kept": line(
            WARNING,
            "folder error",
            "A published key could not be written down; it is fetched again after a start.",
            "Mend the folder.",
        ),
        "subscription_waits": line(
            WARNING,
            "source address",
            "The sender wants this subscription to be confirmed.",
            "Open the address, or set confirm_subscription.",
        ),
        "subscription_confirmed": line(INFO, "source", "The address in the handshake was opened."),
        "subscription_not_confirmed": line(
            WARNING,
            "source error",
            "The address in the handshake could not be opened.",
            "Have the sender send it again.",
        ),
    }
)
