"""How long a test waits for what must come."""

from __future__ import annotations

import os
import threading
from typing import Self

PATIENCE_SECONDS = float(os.environ.get("LANDFAST_PATIENCE_SECONDS", "120"))
"""A machine that others use too has stood still for more than 20 seconds. Whoever waits in vain fails this much later; a
test that gives up sooner fails for nothing. Where the wait must be told apart from a longer one of the product, the longer
one is made longer still. `make mutants`, whose tests wait in vain, sets less."""

TICK_SECONDS = 0.05


class Stopwatch:
    """Seconds that this process was there to see: what the machine stood still in between is a tick of it. For a promise
    that is itself about time."""

    def __init__(self) -> None:
        self._ticks = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        return self._ticks * TICK_SECONDS

    def _tick(self) -> None:
        while not self._is_over.wait(TICK_SECONDS):
            self._ticks += 1
