"""How alerts are looked for and told, as the settings say it."""

from __future__ import annotations

from dataclasses import dataclass

from landfast.alerting.sink import Sink
from landfast.domain.alerts.states import Patience
from landfast.domain.alerts.thresholds import DEFAULTS, Thresholds


@dataclass(frozen=True, slots=True)
class Plan:
    thresholds: Thresholds = DEFAULTS
    patience: Patience = Patience()  # noqa: RUF009 - frozen
    off: frozenset[str] = frozenset()
    """Names of alerts that nobody wants."""
    sinks: tuple[Sink, ...] = ()
    runbooks: str = ""
    """The address below which the pages are, where they are published."""
    every: float = 15.0
    """Seconds between two looks: what is wrong is told within a minute."""
