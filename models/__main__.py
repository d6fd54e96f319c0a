"""Explore the design, which must hold, and its weakened variants, each of which must be caught.

python -m models            within seconds: part of `make check`
python -m models --deep     more runs, workers and effects: a minute or two
python -m models --traces   and how each variant was caught
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

from models.explore import Model, Verdict, explore
from models.intake import Intake
from models.loops import Loops
from models.receipt_first import Design
from models.suspects import Suspects


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    model: Model[Any]
    holds: bool = True
    """What is expected of it."""


DESIGN = (
    Row("intake: two deliveries of one event", Intake()),
    Row("three workers, one handler", Design(workers=3)),
    Row("two workers, two handlers", Design(workers=2, handlers=2)),
    Row("two workers, two runs, old deploys", Design(workers=2, runs=2, deploys=True)),
    Row("one worker, two handlers, two runs", Design(workers=1, handlers=2, runs=2)),
    Row("one worker, two handlers, one removed", Design(workers=1, handlers=2, removes=True)),
    Row("two workers, an effect", Design(workers=2, effects=True)),
    Row("suspects in a process of their own", Suspects()),
    Row("suspects between the others", Suspects(run="between")),
    Row("loops that end, a handler that cancels itself", Loops()),
)
DEEP = (
    Row("two workers, two handlers, one removed", Design(workers=2, handlers=2, removes=True)),
    Row("two workers, three runs", Design(workers=2, runs=3)),
    Row("two workers, two runs, an effect", Design(workers=2, runs=2, effects=True)),
    Row("three workers, two runs", Design(workers=3, runs=2)),
)
_TWO_RUNS: dict[str, Any] = {"workers": 2, "runs": 2, "deploys": True}
WEAKENED = (
    Row("answers before it is durable", Intake("answer_first"), holds=False),
    Row("the cache knows it before it is durable", Intake("remember_first"), holds=False),
    Row("no unique key in the inbox", Intake("no_unique_key"), holds=False),
    Row("no receipt", Design(weakness="no_receipt"), holds=False),
    Row("the receipt in a second transaction", Design(weakness="receipt_later"), holds=False),
    Row("buries by the inbox's state, no tombstone", Design(weakness="bury_by_state"), holds=False),
    Row(
        "forgets a tombstone while another waits",
        Design(workers=1, handlers=2, removes=True, weakness="tombstone_forgotten"),
        holds=False,
    ),
    Row("buries without looking at what stands", Design(weakness="bury_unheeding"), holds=False),
    Row("buries without looking at earlier runs", Design(weakness="bury_in_its_run_only", **_TWO_RUNS), holds=False),
    Row("an unknown COMMIT judged a failure", Design(weakness="unknown_is_a_failure"), holds=False),
    Row("settles a failure without its token", Design(weakness="failure_without_token"), holds=False),
    Row("settles without its run", Design(weakness="settle_without_run", **_TWO_RUNS), holds=False),
    Row("an unforced replay that does not look", Design(weakness="replay_repeats", **_TWO_RUNS), holds=False),
    Row("an unforced replay that does not seal", Design(weakness="replay_without_seals", **_TWO_RUNS), holds=False),
    Row("performs an effect before the COMMIT", Design(weakness="effect_before_commit", effects=True), holds=False),
    Row("counts a crash against its neighbours", Suspects("counts_at_once"), holds=False),
    Row("runs suspects in groups", Suspects("suspects_in_groups"), holds=False),
    Row("runs other hands beside a suspect", Suspects("no_gate", run="between"), holds=False),
    Row("runs two suspects at a time", Suspects("two_at_a_time"), holds=False),
    Row("runs others in the suspects' process", Suspects("others_in_their_process"), holds=False),
    Row("kills a suspect's process at a stop", Suspects("killed_at_a_stop"), holds=False),
    Row("kills it at a stop where it runs between", Suspects("killed_at_a_stop", run="between"), holds=False),
    Row("takes any cancellation for the stop", Loops("any_cancellation_is_the_stop"), holds=False),
    Row("takes the stop for the handler's", Loops("no_cancellation_is_the_stop"), holds=False),
    Row("a loop ends in silence", Loops("ends_in_silence"), holds=False),
    Row("waits for a loop that swallowed its cancellation", Loops("waits_for_all"), holds=False),
)


def main(arguments: list[str]) -> int:
    wrong = 0
    for row in (*DESIGN, *(DEEP if "--deep" in arguments else ()), *WEAKENED):
        started = time.perf_counter()
        verdict = explore(row.model)
        seconds = time.perf_counter() - started
        is_right = row.holds == (not verdict.problem)
        wrong += not is_right
        print(f"{row.name:<44}{verdict.states:>9,} worlds {seconds:5.1f} s  {_result(row, verdict)}")  # noqa: T201 - a command prints
        if verdict.trace and ("--traces" in arguments or (row.holds and verdict.problem)):
            print(f"    {' / '.join(verdict.trace)}")  # noqa: T201 - a command prints
    print(f"models: {wrong} wrong" if wrong else "models: the design holds, every weakened variant is caught")  # noqa: T201 - a command prints
    return 1 if wrong else 0


def _result(row: Row, verdict: Verdict) -> str:
    if row.holds:
        return f"BROKEN: {verdict.problem}" if verdict.problem else "holds"
    return f"caught: {verdict.problem}" if verdict.problem else "NOT CAUGHT"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
