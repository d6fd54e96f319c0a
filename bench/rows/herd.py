"""A dependency is away for a minute while events need it, and then comes back: by a clock that is moved, so that what
is found does not depend on how busy the machine is.

`python -m bench.herd` has the same with real workers and real time.
"""

from __future__ import annotations

import tempfile

from bench.herd import measure_virtually
from bench.rows import Row
from bench.stage import Stage

ATTEMPTS = "a dependency was away for 60 s: events that lost their attempt"
DONE_AFTER = "a dependency was away for 60 s: all that waited are done after"
BUSIEST = "a dependency was away for 60 s: calls in the busiest second after it"
RATE = 300
OUTAGE_SECONDS = 60.0


async def rows(stage: Stage) -> list[Row]:
    lost, after, busiest = Row(ATTEMPTS, "events"), Row(DONE_AFTER, "s"), Row(BUSIEST, "/s")
    stage.say(f"a dependency is away for {OUTAGE_SECONDS:g} s, and {stage.sizes.herd:,} events wait for it")
    with tempfile.TemporaryDirectory(dir=stage.folder) as folder:
        found = await measure_virtually(folder, events=stage.sizes.herd, outage=OUTAGE_SECONDS, rate=RATE)
    lost.values.append(stage.sizes.herd - found.states.get("done", 0))
    after.values.append(found.took)
    busiest.values.append(found.busiest)
    after.notes.append(f"{stage.sizes.herd:,} events, at a rate of {RATE}; {found.probes} calls while it was away")
    return [lost, after, busiest]
