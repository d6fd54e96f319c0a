"""`make docs`: the pages of docs/reference, drawn from the code, and the index. A test fails when one is old."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import click

from docs import navigation
from docs.admin_page import admin_api, openapi
from docs.api_page import api
from docs.errors_page import errors
from docs.metrics_page import metrics
from docs.provider_language import language
from docs.provider_pages import provider_pages
from docs.settings_page import settings
from landfast import log_lines
from landfast.cli import landfast as command
from landfast.domain import effect
from landfast.domain.lifecycle import RECEIPT_SIGNALS, TOKEN_SIGNALS, TRANSITIONS, Signal, State

WIDTH = 78
"""What click leaves of a terminal of 80 columns."""
REFERENCE = Path(__file__).resolve().parent / "reference"


def pages() -> dict[str, str]:
    own = {
        "lifecycle.md": lifecycle(),
        "commands.md": commands(),
        "settings.md": settings(),
        "api.md": api(),
        "admin-api.md": admin_api(),
        "openapi.json": openapi(),
        "errors.md": errors(),
        "log.md": log(),
        "metrics.md": metrics(),
        "describing-a-provider.md": language(),
    }
    return own | provider_pages()


def lifecycle() -> str:
    arrows: dict[tuple[State, State], list[Signal]] = defaultdict(list)
    for (state, signal), end in TRANSITIONS.items():
        arrows[state, end].append(signal)
    lines = [
        "# The life of an event",
        "",
        "Drawn from the one transition table, `src/landfast/domain/lifecycle.py`. A signal that is not listed for a",
        "state changes nothing.",
        "",
        "```mermaid",
        "stateDiagram-v2",
        "    [*] --> ready: record",
        "    [*] --> held: record, where a rule says so",
        *(f"    {begin} --> {end}: {', '.join(signals)}" for (begin, end), signals in arrows.items()),
        "```",
        "",
        "| Signal | From | To | Who may send it |",
        "|---|---|---|---|",
    ]
    for signal in Signal:
        begins = [state for state, heard in TRANSITIONS if heard is signal]
        ends = sorted({TRANSITIONS[state, signal] for state in begins})
        lines.append(f"| {signal} | {', '.join(begins)} | {', '.join(ends)} | {_who(signal)} |")
    return "\n".join([*lines, "", *_effects()]) + "\n"


def _effects() -> list[str]:
    arrows: dict[tuple[effect.EffectState, effect.EffectState], list[effect.EffectSignal]] = defaultdict(list)
    for (state, signal), end in effect.TRANSITIONS.items():
        arrows[state, end].append(signal)
    lines = [
        "# The life of an effect",
        "",
        "Drawn from `src/landfast/domain/effect.py`. A handler stages an effect; the COMMIT of its transaction makes",
        f"it {effect.STAGED}.",
        "",
        "```mermaid",
        "stateDiagram-v2",
        f"    [*] --> {effect.STAGED}: stage",
        *(f"    {begin} --> {end}: {', '.join(signals)}" for (begin, end), signals in arrows.items()),
        "```",
        "",
        "| Signal | From | To | Who may send it |",
        "|---|---|---|---|",
    ]
    for signal in effect.EffectSignal:
        begins = [state for state, heard in effect.TRANSITIONS if heard is signal]
        ends = sorted({effect.TRANSITIONS[state, signal] for state in begins})
        who = "the holder of the token" if signal in effect.HOLDER_SIGNALS else "an operator"
        who = "a worker" if signal is effect.EffectSignal.CLAIM else who
        lines.append(f"| {signal} | {', '.join(begins)} | {', '.join(ends)} | {who} |")
    return lines


def commands() -> str:
    lines = ["# Commands", "", "What `--help` says, for every command.", ""]
    whole = command.make_context("landfast", [], resilient_parsing=True, terminal_width=WIDTH)
    _describe(command, whole, lines)
    return "\n".join(lines).rstrip() + "\n"


def log() -> str:
    parts = {
        "Intake": log_lines.INTAKE,
        "Databases, cache, spool and journal": log_lines.LAYERS,
        "Processing": log_lines.PROCESSING,
        "Processes": log_lines.PROCESSES,
        "The operator log and reconcile": log_lines.OPERATIONS,
        "Alerts and dead letters": log_lines.ALERTS,
    }
    lines = [
        "# The log",
        "",
        "Every line has a name that stays the same, and fields as `name=value`; a value with a blank in it is quoted.",
        "A field means the same in all of them: `grep event=01ab` finds all that is known of an event. After an error",
        "that nobody expected, the frames of its trace follow, without its message.",
        "Drawn from `src/landfast/log_lines`.",
    ]
    for title, table in parts.items():
        lines += ["", f"## {title}", "", "| Line | Level | Fields | Means | To do |", "|---|---|---|---|---|"]
        lines += [
            f"| `{name}` | {', '.join(line.levels)} | {', '.join(line.fields)} | {line.meaning} | {line.fix} |"
            for name, line in table.items()
        ]
    lines += ["", "## Fields", "", "| Field | Is |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {text} |" for name, text in log_lines.FIELDS.items())]) + "\n"


def _describe(what: click.Command, context: click.Context, lines: list[str]) -> None:
    shown = context.get_help()
    lines += [f"## {context.command_path}", "", "```", *(line.rstrip() for line in shown.splitlines()), "```", ""]
    if isinstance(what, click.Group):
        for name in what.list_commands(context):
            inner = what.get_command(context, name)
            if inner is not None and not inner.hidden:
                _describe(inner, inner.make_context(name, [], context, resilient_parsing=True), lines)


def _who(signal: Signal) -> str:
    if signal in TOKEN_SIGNALS:
        return "the holder of the token"
    if signal in RECEIPT_SIGNALS:
        return "whoever knows of the receipts"
    others = {
        Signal.CLAIM: "a worker",
        Signal.WAKE: "time",
        Signal.PROMOTE: "whoever passes what it waited for",
        Signal.SKIP: "an operator",
        Signal.REQUEUE: "a worker that brings a handler",
        Signal.RESUME: "a worker, once the switch is in force no longer",
        Signal.STIR: "a worker that moved the entity which the event waits for",
        Signal.HOLD: "an operator",
        Signal.ADMIT: "an operator",
        Signal.DISCARD: "an operator",
        Signal.ERASE: "an operator",
        Signal.HASTEN: "an operator",
        Signal.CLOSE: "an operator",
        Signal.REPLAY: "an operator",
        Signal.RECOVER: "an operator",
    }
    return others[signal]


if __name__ == "__main__":
    for name, text in pages().items():
        (REFERENCE / name).parent.mkdir(exist_ok=True)
        (REFERENCE / name).write_text(text)
    (navigation.DOCS / "index.md").write_text(navigation.index())
