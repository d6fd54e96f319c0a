"""Every question and every command of the admin API: path, function, what goes in, what comes out, and the role that it
takes. Questions take the role viewer and commands the role operator unless it is said."""

from __future__ import annotations

from landfast.admin.commands import events as decide
from landfast.admin.commands import replays as replaying
from landfast.admin.commands import sessions as ending
from landfast.admin.commands import switches, upkeep
from landfast.admin.questions import (
    alerts,
    audit,
    doctor,
    effects,
    event,
    event_request,
    event_texts,
    events,
    failures,
    handlers,
    lanes,
    overview,
    proof,
    rejections,
    replays,
    retention,
    sessions,
    sources,
)
from landfast.admin.route import LONG_SECONDS, Nothing, Route, command, question
from landfast.domain.access import Role

QUESTIONS: tuple[Route, ...] = (
    question("/api/overview", overview.overview, overview.OverviewAsked, overview.Overview),
    question("/api/events", events.events, events.EventsAsked, events.EventsPage),
    question("/api/events/count", events.count, events.CountAsked, events.EventCount),
    question("/api/events/{event:path}/revealed", event.revealed, event.EventAsked, event.EventView, Role.ADMIN),
    question("/api/events/{event:path}/graph", effects.graph, effects.GraphAsked, effects.Graph),
    question("/api/events/{event:path}/curl", event_texts.curl, event.EventAsked, event_texts.EventText, Role.ADMIN),
    question(
        "/api/events/{event:path}/test", event_texts.saved_test, event.EventAsked, event_texts.EventText, Role.ADMIN
    ),
    question(
        "/api/events/{event:path}/request",
        event_request.event_request,
        event.EventAsked,
        event_request.EventRequest,
        Role.ADMIN,
    ),
    question("/api/events/{event:path}", event.event, event.EventAsked, event.EventView),
    question("/api/failures", failures.failures, failures.FailuresAsked, failures.Groups),
    question("/api/errors", failures.errors, failures.ErrorsAsked, failures.Errors),
    question("/api/replays", replays.replays, replays.ReplaysAsked, replays.Replays),
    question("/api/replays/preview", replays.preview, replays.PreviewAsked, replays.Preview),
    question("/api/replays/dry-run", replays.dry_run, replays.DryRunAsked, replays.DryRun, Role.OPERATOR, LONG_SECONDS),
    question("/api/replays/{job}", replays.replay, replays.JobAsked, replays.JobView),
    question("/api/sources", sources.sources, sources.SourcesAsked, sources.Sources),
    # It looks whether a file or a variable of the server is there.
    question(
        "/api/sources/{source}/rotation", sources.secret_rotation, sources.RotationAsked, sources.Rotation, Role.ADMIN
    ),
    question("/api/unhandled", sources.unhandled, Nothing, sources.Unhandled),
    question("/api/handlers", handlers.handlers, handlers.HandlersAsked, handlers.Handlers),
    question("/api/effects", effects.effects, effects.EffectsAsked, effects.Effects),
    question("/api/lanes", lanes.lanes, lanes.LanesAsked, lanes.Lanes),
    question("/api/lifecycles", lanes.lifecycles, Nothing, lanes.Lifecycles),
    question("/api/entities/{entity:path}", lanes.entity, lanes.EntityAsked, lanes.EntityStates),
    question("/api/rejections", rejections.rejections, rejections.RejectionsAsked, rejections.Rejections),
    question("/api/retention", retention.retention, Nothing, retention.RetentionView),
    question("/api/retention/preview", retention.would_remove, Nothing, retention.Removals, seconds=LONG_SECONDS),
    question("/api/alerts", alerts.alerts, Nothing, alerts.Alerts),
    question("/api/sessions", sessions.sessions, Nothing, sessions.Sessions, Role.ADMIN),
    question("/api/audit", audit.audit, audit.AuditAsked, audit.AuditPage),
    question("/api/audit/verify", audit.verify, Nothing, audit.AuditVerified, seconds=LONG_SECONDS),
    question("/api/doctor", doctor.doctor, Nothing, doctor.Checkup, seconds=LONG_SECONDS),
    question("/api/proof", proof.proof, Nothing, proof.ProofView, seconds=LONG_SECONDS),
)

COMMANDS: tuple[Route, ...] = (
    command("/api/events/retry", decide.retry, decide.Chosen, decide.Changed),
    command("/api/events/discard", decide.discard, decide.Chosen, decide.Changed),
    command("/api/events/hold", decide.hold, decide.Chosen, decide.Changed),
    command("/api/events/admit", decide.admit, decide.Chosen, decide.Changed),
    command("/api/events/refuse", decide.refuse, decide.Chosen, decide.Changed),
    command("/api/events/skip", decide.skip, decide.Chosen, decide.Changed),
    command("/api/events/erase", decide.erase, decide.EraseThese, decide.ErasedView, Role.ADMIN),
    command("/api/events/{event:path}/replay", replaying.replay_event, replaying.ReplayEvent, replaying.Replayed),
    command("/api/replays", replaying.start, replaying.StartReplay, replays.JobView),
    command("/api/replays/{job}/cancel", replaying.cancel, replaying.ChangeJob, replaying.Cancelled),
    command("/api/replays/{job}/resume", replaying.resume, replaying.ChangeJob, replays.JobView),
    command("/api/pause", switches.pause, switches.Pause, switches.Paused),
    command("/api/resume", switches.resume, switches.Resume, switches.Resumed),
    command("/api/reload", switches.reload, switches.Reload, switches.Reloaded, Role.ADMIN),
    command("/api/effects/retry", upkeep.retry_effects, upkeep.RetryEffects, upkeep.Retried),
    command("/api/effects/skip", upkeep.skip_effect, upkeep.SkipEffect, upkeep.SkippedEffect),
    command("/api/alerts/silence", upkeep.silence, upkeep.SilenceAlert, upkeep.Silenced),
    command("/api/alerts/unsilence", upkeep.unsilence, upkeep.UnsilenceAlert, upkeep.Unsilenced),
    command("/api/sessions/end", ending.end_session, ending.EndSession, ending.SessionEnded, Role.ADMIN),
    command("/api/retention/run", upkeep.run_retention, Nothing, upkeep.RetentionRun, Role.ADMIN),
)

ROUTES = QUESTIONS + COMMANDS
