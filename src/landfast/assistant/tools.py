"""Which functions of the admin API an assistant is offered, and under which names. What a tool takes is what its route
takes: one schema for both."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec

from landfast.admin.route import Route
from landfast.admin.routes import ROUTES
from landfast.domain.access import Operator

LOOKS: Mapping[str, str] = MappingProxyType(
    {
        "status": "overview.overview",
        "list_events": "events.events",
        "count_events": "events.count",
        "show_event": "event.event",
        "show_effect_graph": "effects.graph",
        "failures": "failures.failures",
        "errors": "failures.errors",
        "list_effects": "effects.effects",
        "list_sources": "sources.sources",
        "plan_secret_rotation": "sources.secret_rotation",
        "list_unhandled": "sources.unhandled",
        "list_handlers": "handlers.handlers",
        "list_lanes": "lanes.lanes",
        "list_lifecycles": "lanes.lifecycles",
        "show_entity": "lanes.entity",
        "list_rejected": "rejections.rejections",
        "list_replays": "replays.replays",
        "show_replay": "replays.replay",
        "preview_replay": "replays.preview",
        "show_retention": "retention.retention",
        "preview_retention": "retention.would_remove",
        "list_alerts": "alerts.alerts",
        "list_audit": "audit.audit",
        "verify_audit": "audit.verify",
        "doctor": "doctor.doctor",
        "proof": "proof.proof",
    }
)
"""By the name of the tool, the name of its route."""

CHANGES: Mapping[str, str] = MappingProxyType(
    {
        "dry_run_replay": "replays.dry_run",
        "replay_event": "replays.replay_event",
        "start_replay": "replays.start",
        "cancel_replay": "replays.cancel",
        "resume_replay": "replays.resume",
        "retry_events": "events.retry",
        "discard_events": "events.discard",
        "hold_events": "events.hold",
        "admit_held_events": "events.admit",
        "discard_held_events": "events.refuse",
        "skip_in_lane": "events.skip",
        "pause": "switches.pause",
        "resume": "switches.resume",
        "retry_effects": "upkeep.retry_effects",
        "skip_effect": "upkeep.skip_effect",
        "silence_alert": "upkeep.silence",
        "unsilence_alert": "upkeep.unsilence",
    }
)
"""Not even listed unless changes are allowed. A dry run is among them: it runs the code of handlers."""

LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "event.revealed": "what is hidden is hidden from assistants, too",
        "event_request.event_request": "it has the exact bytes",
        "event_texts.curl": "it has the exact bytes, and a signature of ours",
        "event_texts.saved_test": "it has the exact bytes",
        "events.erase": "it cannot be taken back: a person types it",
        "sessions.end_session": "whom to put out is for people to say",
        "sessions.sessions": "who is signed in is nothing that an assistant has to know",
        "switches.reload": "an assistant changes no settings, so it has none to have read anew",
        "upkeep.run_retention": "as events.erase",
    }
)
"""Routes that are no tool, each with the reason."""

HINTS: Mapping[str, str] = MappingProxyType(
    {
        "list_events": "Dead letters are state:dead, what is tried again state:delayed, held ones state:held.",
        "failures": "The dead letters, or what is being tried again, grouped by what fails alike.",
        "start_replay": "Ask preview_replay first, show its number to the person, and confirm that number.",
        "discard_events": "They are never processed: ask the person first.",
        "discard_held_events": "Ask the person first.",
        "hold_events": "By name alone. They wait until somebody admits or discards them.",
        "skip_effect": "The steps after it run without it: ask the person first.",
        "skip_in_lane": "Later events of the entity run without it: ask the person first.",
    }
)
ENDS = frozenset({"discard_events", "discard_held_events", "skip_in_lane", "skip_effect", "cancel_replay"})
"""What they end does not come back by itself."""

WHY_NEEDED = "why: say why in a sentence; the operator log keeps it"
CONFIRM_NEEDED = "confirm: with a filter, say how many events it is about; count_events counts them"


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    route: Route
    is_change: bool

    @property
    def fields(self) -> set[str]:
        return {field.name for field in msgspec.structs.fields(self.route.parameters)}

    def listed(self) -> dict[str, Any]:
        """As `tools/list` tells it."""
        told = f"{' '.join((inspect.getdoc(self.route.function) or '').split())} {HINTS.get(self.name, '')}".strip()
        return {
            "name": self.name,
            "description": told,
            "inputSchema": self.schema(),
            "annotations": {
                "readOnlyHint": not self.is_change,
                "destructiveHint": self.name in ENDS,
                "openWorldHint": False,
            },
        }

    def schema(self) -> dict[str, Any]:
        kind = self.route.parameters
        _, others = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
        schema = {name: value for name, value in others.pop(kind.__name__).items() if name != "title"}
        if self._needs_why:
            schema["properties"]["why"]["minLength"] = 1
            schema["required"] = [*schema.get("required", ()), "why"]
        return schema | ({"$defs": others} if others else {})

    def read(self, arguments: Mapping[str, Any]) -> Any:
        """What the function is given. ValidationError with a sentence."""
        asked: Any = msgspec.convert(arguments, self.route.parameters)
        if self._needs_why and not asked.why.strip():
            raise msgspec.ValidationError(WHY_NEEDED)
        # An assistant that mistypes a filter must not decide about everything: people see the number first.
        if self.is_change and {"filter", "confirm"} <= self.fields and asked.filter and asked.confirm is None:
            raise msgspec.ValidationError(CONFIRM_NEEDED)
        return asked

    @property
    def _needs_why(self) -> bool:
        return self.is_change and "why" in self.fields


def tools(by: Operator, *, allow_changes: bool) -> dict[str, Tool]:
    """Those that this operator may use, always in the same order."""
    routes = {route.name: route for route in ROUTES}
    named = [(name, route, False) for name, route in LOOKS.items()]
    named += [(name, route, True) for name, route in CHANGES.items()] if allow_changes else []
    made = [Tool(name, routes[route], is_change) for name, route, is_change in named]
    return {tool.name: tool for tool in made if by.role.may(tool.route.role)}
