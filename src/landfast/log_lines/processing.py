"""Lines of the log: what workers say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from landfast.log_lines.line import ERROR, INFO, WARNING, Line, line

PROCESSING: Mapping[str, Line] = MappingProxyType(
    {
        "worker_started": line(INFO, "worker host pid", "A worker begins to claim."),
        "replay_job": line(INFO, "job state count", "A worker has carried out a replay that an operator asked for."),
        "replay_job_failed": line(
            f"{WARNING} {ERROR}",
            "error",
            "A replay that an operator asked for did not get on.",
            "`landfast replay list` has the jobs; `landfast replay resume JOB` goes on with one.",
        ),
        "worker_failed": line(ERROR, "retry_seconds", "A worker inside your application failed, and starts again."),
        "handler_failed": line(
            WARNING,
            "handler source type key event attempt error then",
            "An attempt failed.",
            "`landfast events show EVENT` has its message and trace.",
        ),
        "handler_committed_elsewhere": line(
            WARNING,
            "where",
            "A handler committed on a session of its own, which its receipt does not cover: a retry does it again.",
            "Use the session that the handler is given, or make that write one that may happen twice.",
        ),
        "handler_done": line(
            INFO,
            "handler source type key event ms",
            "A handler is done with an event: what it wrote and its receipt are committed.",
        ),
        "no_writes": line(
            WARNING,
            "handler fix",
            "A handler is done and has never used its transaction: what it writes elsewhere is not covered by its"
            " receipt, and may happen twice. Told once by each worker.",
            "Write on `tx`, or on the session; `landfast doctor` counts such events.",
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
        "parked_unseen": line(
            WARNING,
            "count error",
            "It could not be looked at whether the entities of events moved while these were parked; the worker looks"
            " again in half a minute, at 1,000 entities at most.",
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
        "rollback_failed": line(
            ERROR, "", "Hanging up on a handler met a bug of ours; what it wrote is rolled back when it returns."
        ),
        "wrote_elsewhere": line(
            WARNING,
            "database ledger fix",
            "A handler writes to a database of Django's that is not the ledger's: nobody undoes that when it fails.",
            "Write it to the ledger's database, or stage an effect.",
        ),
        "commit_hooks_still_run": line(
            WARNING, "seconds", "Functions that a handler gave to Django's `on_commit` take long; they go on alone."
        ),
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
        "dependency_away": line(
            ERROR,
            "breaker reason worker",
            "A dependency does not answer; whatever uses it waits, and loses no attempt.",
            "Bring it back.",
        ),
        "dependency_back": line(INFO, "dependency", "It answers again; what waited is let through at a growing rate."),
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
        "effect_performed": line(INFO, "effect key event", "An effect was carried out."),
        "effect_failed": line(
            WARNING,
            "effect event attempt error then",
            "An effect failed, and is tried again.",
            "`landfast effects list --state delayed` has its message.",
        ),
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
        "arrival_missed": line(
            WARNING,
            "arrival event",
            "An event that a step waits for was not handled by its deadline.",
            "The step runs without it, or waits: `landfast events show EVENT --graph`.",
        ),
        "step_postponed": line(
            WARNING, "effect event error", "A step could not have its transaction, or its COMMIT was not answered."
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
