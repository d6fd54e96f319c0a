"""Which states hold a lane. Whether an event does is a column of its own, because most states may be on either side."""

from __future__ import annotations

from landfast.domain.lifecycle import State

LET_PASS = frozenset({State.UNHANDLED, State.HELD})
"""Those in which an event does not hold its lane, because nobody processes it now. Whoever makes one ready again has it
hold its lane again."""

HOLD_AT_ONCE = frozenset({State.DELAYED, State.PAUSED})
"""Those of the shelf that hold their lanes from the moment on at which their source is ordered."""
