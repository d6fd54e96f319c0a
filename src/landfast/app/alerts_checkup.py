"""The checkup of alerts: can every sink be used, and has it taken what it was sent?"""

from __future__ import annotations

from collections.abc import Sequence

from landfast.app.alerts import sink_of
from landfast.app.inbox import Inbox
from landfast.domain.errors import ConfigError
from landfast.operations.alerts import listing
from landfast.recovery.doctor import Check, Level

NAME = "alerts"


async def examine_alerts(inbox: Inbox) -> Sequence[Check]:
    given = inbox.settings.alerts
    if not given.enabled:
        return [Check(NAME, Level.WARN, "nobody looks for them: enabled = false", "remove it from [alerts]")]
    checks = []
    for sink in given.sinks:
        try:
            sink_of(sink, inbox.settings)
        except ConfigError as error:
            checks.append(Check(f"alert sink {sink.name}", Level.FAIL, str(error), "then: landfast alerts test"))
    async with inbox.archive() as archive:
        found = await listing(archive)
    for name in sorted({one.message.sink for one in found.unsent}):
        errors = [one.error for one in found.unsent if one.message.sink == name]
        told = f"{len(errors)} messages not taken: {errors[-1]}"
        checks.append(Check(f"alert sink {name}", Level.WARN, told, "landfast alerts test says what it answers"))
    if checks:
        return checks
    where = ", ".join(sink.name for sink in given.sinks) or "the log alone; write a sink as [alerts.sinks.NAME]"
    if found.firing:
        firing = ", ".join(alert.label for alert in found.firing)
        return [Check(NAME, Level.WARN, f"{firing}; told to {where}", "landfast alerts list has what to do of each")]
    return [Check(NAME, Level.OK, f"none is firing; told to {where}")]
