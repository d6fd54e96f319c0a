"""What effects return, and give to those that were staged after them."""

from __future__ import annotations

from typing import Any

import msgspec

from landfast.domain.effect import ClaimedEffect
from landfast.processing.effects.settlements import TIMED_OUT
from landfast.processing.handlers.results import encoded_result
from landfast.processing.invoke import HandlerRaisedError


def inputs_of(claimed: ClaimedEffect) -> dict[str, Any]:
    """Arguments that are what others returned."""

    def returned(key: str) -> Any:
        result = claimed.results.get(key)
        return None if result is None else msgspec.json.decode(result)

    return {
        name: returned(given) if isinstance(given, str) else [returned(key) for key in given]
        for name, given in claimed.staged.step.inputs.items()
    }


def has_timed_out(claimed: ClaimedEffect) -> bool:
    """Whether an arrival that it waited for did not come."""
    return any(claimed.results.get(key) == TIMED_OUT for key in claimed.staged.step.waited)


def kept_result(claimed: ClaimedEffect, returned: Any) -> bytes | None:
    """An effect that stands alone may return whatever its last call did: what nobody asks for need not be JSON."""
    if returned is None:
        return None
    try:
        return encoded_result("effect", returned)
    except HandlerRaisedError:
        if claimed.staged.step.gives:
            raise
        return None
