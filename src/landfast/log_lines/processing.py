"""Lines of the log: what workers say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from landfast.log_lines.line import ERROR, INFO, WARNING, Line, line

PROCESSING: Mapping[str, Line] = MappingProxyType(
    {
        "worker_started": line(INFO, "worker host pid", "A worker begins to claim."),
        "worker_failed": line(ERROR, "retry_seconds", "A worker inside your application failed, and starts again."),
        "handler_failed": line(
            WARNING,
            "handler source type key event attempt error then",
            "An attempt failed.",
            "`landfast events show EVENT` has its message and trace.",
        ),
        "dead_letter": line(
            WARNING,
            "event handler reason error",
            "An event is a dead letter.",
            "`landfast dead show EVENT`; mend the cause, then `landfast replay EVENT`.",
        ),
        "unhandled": line(
            WARNING, "source type event", "No handler takes this type; the event waits.", "`landfast unhandled`."
        ),
        "no_master_key": line(
            WARNING,
            "events effect event reason",
            "This worker lacks the master key; what is sealed waits for one that has it.",
            "Give it `seal` or `seal_old`.",
        ),
        "requeued": line(INFO, "source type count", "Events that waited for a handler have one now."),
        "requeue_failed": line(
            WARNING, "error", "Events that wait for a handler could not be taken up; it is tried again."
        ),
        "resumed": line(INFO, "count", "Events whose switch is gone are ready again."),
        "handler_ignored": line(
            WARNING, "handler reason fix", "A handler never runs, because its source ignores the type."
        ),
        "handler_hung": line(ERROR, "pid", "A handler outlived its deadline and would not end; its process is killed."),
        "handler_left_behind": line(
            ERROR, "count at_most", "A handler in your application hangs; another takes its place.", "Give it timeouts."
        ),
        "processing_stopped": line(ERROR, "reason", "Too many handlers hang in your application.", "Restart it."),
        "still_running_after_its_deadline": line(ERROR, "where", "Where the handler stands that would not end."),
        "still_running_after_its_worker_stopped": line(
            ERROR, "where", "Where a handler stands after its worker's end."
        ),
        "not_cancelled": line(ERROR, "error", "A handler could not be cancelled."),
        "claims_stopped": line(
            ERROR,
            "breaker reason worker",
            "The ledger cannot be used; nothing is claimed until it can.",
            "Read the reason.",
        ),
        "claims_resumed": line(INFO, "", "The ledger answers again."),
        "handler_breaker_opened": line(
            ERROR, "breaker reason worker", "What a handler depends on is away; its events wait.", "Bring it back."
        ),
        "handler_breaker_closed": line(INFO, "handler", "The handler works again."),
        "leases_not_renewed": line(
            WARNING, "error", "Leases could not be renewed; if they end, others take the events."
        ),
        "settle_delayed": line(WARNING, "count error", "Outcomes could not be written; they are kept and tried again."),
        "settle_refused": line(ERROR, "event signal error", "The inbox refuses an outcome; the lease ends by itself."),
        "settle_passed_over": line(INFO, "event signal", "Somebody else has settled this event already."),
        "suspect_not_given_back": line(
            WARNING, "error", "A suspect could not be given back; its lease ends by itself."
        ),
        "effect_performed": line(INFO, "effect key", "An effect was carried out."),
        "effect_dead": line(
            WARNING,
            "effect event reason error",
            "An effect is dead.",
            "`landfast effects list --state dead`; mend the cause, then `landfast effects retry KEY`.",
        ),
        "unknown_effect": line(
            WARNING,
            "effect event seconds",
            "No worker knows this effect; it is offered for three days.",
            "Deploy its function.",
        ),
        "effects_not_claimed": line(WARNING, "error", "Effects could not be claimed; it is tried again."),
        "effects_settle_failed": line(
            WARNING, "count error", "What became of effects could not be written; they run again."
        ),
        "not_prepared": line(ERROR, "event", "An event could not be prepared, by a bug of ours; its attempt failed."),
        "not_judged": line(ERROR, "event handler effect error", "A failure could not be judged, by a bug of ours."),
        "not_learned_from": line(
            ERROR, "event handler error", "A breaker could not learn from a failure, by a bug of ours."
        ),
        "not_diagnosed": line(
            ERROR, "cause error", "Whose fault an error was could not be found out, by a bug of ours."
        ),
        "unexpected": line(ERROR, "handler effect error", "An attempt met a bug of ours, and failed."),
        "worker_loop_ended": line(
            ERROR, "loop", "A loop of a worker ended by itself; the worker ends and is replaced."
        ),
        "worker_loop_does_not_end": line(
            ERROR, "loop", "A loop swallowed its cancellation; the worker ends without it."
        ),
    }
)
