"""What metrics cost: the processor time of an ack with them, against one without.

Answers per second of two runs differ by more than metrics can cost. So it is processor time that is compared, of runs
that follow each other: in pairs, of which every other one begins with the run without. The middle ratio counts.
"""

from __future__ import annotations

import statistics
from functools import partial

from bench import stores
from bench.rows import Row
from bench.rows.acks import landfast
from bench.stage import Measured, Stage

RATIO = "processor time of an ack, with metrics against without"
UNCOUNTED = {"BENCH_WITHOUT_METRICS": "1"}
PAIRS_A_ROUND = 2


async def rows(stage: Stage) -> list[Row]:
    row = Row(RATIO, "x")
    spent: dict[bool, list[float]] = {True: [], False: []}
    pairs = PAIRS_A_ROUND * stage.sizes.rounds
    for number in range(pairs):
        for is_counted in (True, False) if number % 2 else (False, True):
            opened = partial(stores.on_postgres, stage.postgres)
            spent[is_counted].append(_each(await landfast(stage, opened, [], settings={} if is_counted else UNCOUNTED)))
        told = f"{spent[True][-1]:.1f} microseconds with metrics, {spent[False][-1]:.1f} without"
        stage.say(f"pair {number + 1} of {pairs}: an ack takes {told}")
    row.values = [counted / uncounted for counted, uncounted in zip(spent[True], spent[False], strict=True)]
    row.detail = {
        "cpu_microseconds_with": [round(one, 1) for one in spent[True]],
        "cpu_microseconds_without": [round(one, 1) for one in spent[False]],
    }
    middles = f"{statistics.median(spent[True]):.0f} and {statistics.median(spent[False]):.0f} microseconds"
    row.notes.append(f"{middles}; pairs from {min(row.values):.3f} to {max(row.values):.3f}")
    return [row]


def _each(run: Measured) -> float:
    """Microseconds of intake and store."""
    return (run.server + run.store) / max(run.answered.ok, 1) * 1e6
