"""Which states hold a lane. Whether an event does is a column of its own, because most states may be on either side."""

from __future__ import annotations

from landfast.domain.lifecycle import LEADS_TO, PLACES, Place, Signal, State

LET_PASS = frozenset({State.UNHANDLED, State.HELD})
"""Those in which an event does not hold its lane, because nobody processes it now: whatever leads to one lets its lane
go on. Whoever makes one ready again has it hold its lane again, unless an earlier run of it was passed."""

PASSED_BY = frozenset(
    {signal for signal, state in LEADS_TO.items() if PLACES[state] is Place.HISTORY} | {Signal.SKIP, Signal.DISCARD}
)
"""Those whose line of history says that the lane has passed the event in that run. A replay does not hold the lane
then, and does not when it was put on hold and is admitted. Not all that is passed has such a line: a dead letter with
`on_dead="skip"` has none. Admitted, its replay holds the lane, until it is passed again."""

HOLD_AT_ONCE = frozenset({State.DELAYED, State.PAUSED})
"""Those of the shelf that hold their lanes from the moment on at which their source is ordered."""
