"""What a command came to, in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from landfast.admin.pages.notice import Notice
from landfast.admin.pages.words import plural
from landfast.admin.route import Route

CHANGED = {
    "events.retry": ("tried now", "was not waiting for its next try"),
    "events.discard": ("closed for good", "was no dead letter"),
    "events.hold": ("held until somebody decides", "does not wait: a worker has it, or it is decided"),
    "events.admit": ("let in", "was not held"),
    "events.refuse": ("never to be processed", "was not held"),
    "events.skip": ("skipped: its lane goes on", "blocks no lane"),
}
"""What is said of events that were changed, and of one that was not."""


def outcome(route: Route, asked: Any, answer: Any) -> tuple[Notice, str]:
    """The sentence, and where to go; empty for back to where the form was."""
    name = route.name
    if name in CHANGED:
        done, not_done = CHANGED[name]
        return _told(answer.changed, f"{plural(answer.changed, 'event')} {done}", f"nothing was changed: it {not_done}")
    if name == "replays.start":
        return Notice("ok", f"the replay of {plural(answer.total, 'event')} has begun"), f"/replays/{answer.job}"
    if name == "replays.replay_event":
        ran = f"replayed: it was {answer.state}, and runs again"
        return _told(int(answer.replayed), ran, f"it is {answer.state}, on its way already")
    if name == "replays.cancel":
        return _told(int(answer.was_running), "cancelled; what it had replayed runs", "it was over already")
    if name == "upkeep.skip_effect":
        return _told(int(answer.skipped), "skipped: the steps after it go on without it", answer.problem)
    if name == "switches.pause":
        again = " already" if answer.was_paused else ""
        return Notice("ok", f"{asked.kind} {asked.name} is paused{again}; senders still get their 200"), ""
    if name == "switches.resume":
        ready = f"{plural(answer.events, 'event')} that waited can run now"
        return _told(int(answer.was_paused), f"{asked.name} goes on; {ready}", f"{asked.name} was not paused")
    return Notice("ok", SENTENCES.get(name, _plain)(answer)), ""


def _told(number: int, done: str, not_done: str) -> tuple[Notice, str]:
    return (Notice("ok", done) if number else Notice("warn", not_done)), ""


def _plain(answer: msgspec.Struct) -> str:
    return ", ".join(f"{name}: {value}" for name, value in msgspec.structs.asdict(answer).items())


def _erased(answer: Any) -> str:
    told = [f"{plural(answer.erased, 'event')} erased"]
    told += [f"{plural(answer.in_hand, 'event')} in the hands of a worker, ask again"] if answer.in_hand else []
    told += [] if answer.is_clean else ["something is still in the databases' files; landfast doctor says what to do"]
    return "; ".join(told)


SENTENCES: Mapping[str, Callable[[Any], str]] = {
    "events.erase": _erased,
    "replays.resume": lambda answer: f"it goes on from {answer.looked_at:,}",
    "sessions.end_session": lambda answer: f"the session of {answer.who} is over within two seconds",
    "switches.reload": lambda _: "the settings are read anew, and tried first; if nothing changes, the log says why",
    "upkeep.retry_effects": lambda answer: f"{plural(answer.retried, 'effect')} performed again",
    "upkeep.silence": lambda answer: f"silenced until {answer.until:%Y-%m-%d %H:%M} UTC",
    "upkeep.unsilence": lambda answer: "told again" if answer.was_silenced else "it was not silenced",
}
