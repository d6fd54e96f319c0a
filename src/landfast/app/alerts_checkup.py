"""The checkup of alerts: can every sink be used, and has it taken what it was sent? And do the functions of `on_dead`
take what they are told?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from landfast.app.alerts import sink_of
from landfast.app.dead_hooks import SINK
from landfast.app.inbox import Inbox
from landfast.domain.errors import ConfigError
from landfast.domain.message import WaitingMessage
from landfast.operations.alerts import Listing, listing
from landfast.recovery.doctor import Check, Level

NAME = "alerts"


async def examine_alerts(inbox: Inbox) -> Sequence[Check]:
    async with inbox.archive() as archive:
        found = await listing(archive)
    # Both are messages that wait, and `landfast alerts test` is for one kind only.
    hooks = [one for one in found.unsent if one.message.sink.startswith(SINK)]
    sinks = [one for one in found.unsent if not one.message.sink.startswith(SINK)]
    return [*_alerts(inbox, found, sinks), *_hooks(hooks)]


def _alerts(inbox: Inbox, found: Listing, unsent: Sequence[WaitingMessage]) -> Sequence[Check]:
    given = inbox.settings.alerts
    if not given.enabled:
        return [Check(NAME, Level.WARN, "nobody looks for them: enabled = false", "remove it from [alerts]")]
    checks = []
    for sink in given.sinks:
        try:
            sink_of(sink, inbox.settings)
        except ConfigError as error:
            checks.append(Check(f"alert sink {sink.name}", Level.FAIL, str(error), "then: landfast alerts test"))
    for name, errors in _errors(unsent).items():
        told = f"{len(errors)} messages not taken: {errors[-1]}"
        checks.append(Check(f"alert sink {name}", Level.WARN, told, "landfast alerts test says what it answers"))
    if checks:
        return checks
    where = ", ".join(sink.name for sink in given.sinks) or "the log alone; write a sink as [alerts.sinks.NAME]"
    if found.firing:
        firing = ", ".join(alert.label for alert in found.firing)
        return [Check(NAME, Level.WARN, f"{firing}; told to {where}", "landfast alerts list has what to do of each")]
    return [Check(NAME, Level.OK, f"none is firing; told to {where}")]


def _hooks(unsent: Sequence[WaitingMessage]) -> Sequence[Check]:
    fix = "see dead_hook_failed and dead_hook_gave_up in the log, and mend the function"
    return [
        Check(
            f"on_dead {name.removeprefix(SINK)}", Level.WARN, f"{len(errors)} dead letters not taken: {errors[-1]}", fix
        )
        for name, errors in _errors(unsent).items()
    ]


def _errors(unsent: Sequence[WaitingMessage]) -> Mapping[str, Sequence[str]]:
    """By the name of the receiver."""
    names = sorted({one.message.sink for one in unsent})
    return {name: [one.error for one in unsent if one.message.sink == name] for name in names}
