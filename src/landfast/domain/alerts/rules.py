"""All rules, by the alert that each finds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType

from landfast.domain.alerts import flow_rules, machine_rules, volume_rules
from landfast.domain.alerts.alert import AlertName, Finding
from landfast.domain.alerts.observation import Observation
from landfast.domain.alerts.thresholds import DEFAULTS, Thresholds

Rule = Callable[[Observation, Thresholds], Iterator[Finding]]

RULES: Mapping[AlertName, Rule] = MappingProxyType(
    {
        AlertName.DEAD_LETTERS: flow_rules.dead_letters,
        AlertName.FAILING_HANDLER: flow_rules.failing_handler,
        AlertName.ONLY_REFUSALS: flow_rules.only_refusals,
        AlertName.UNVERIFIED_FLOOD: flow_rules.unverified_flood,
        AlertName.OLDEST_WAITING: flow_rules.oldest_waiting,
        AlertName.DUPLICATE_STORM: volume_rules.duplicate_storm,
        AlertName.DUPLICATES_GONE: volume_rules.duplicates_gone,
        AlertName.VOLUME_HIGH: volume_rules.volume_high,
        AlertName.VOLUME_LOW: volume_rules.volume_low,
        AlertName.SOURCE_SILENT: volume_rules.source_silent,
        AlertName.SPOOL_IN_USE: machine_rules.spool_in_use,
        AlertName.BREAKER_OPEN: machine_rules.breaker_open,
        AlertName.CLOCK_SKEW: machine_rules.clock_skew,
        AlertName.NOBODY_ALIVE: machine_rules.nobody_alive,
        AlertName.DISK_LOW: machine_rules.disk_low,
    }
)
"""INBOX_AWAY has none: while the inbox is away there is nothing to look at."""


def findings(seen: Observation, limits: Thresholds = DEFAULTS, *, off: Collection[str] = frozenset()) -> list[Finding]:
    """What all rules find, but those that are switched off. One about each thing."""
    found = [finding for name, rule in RULES.items() if name not in off for finding in rule(seen, limits)]
    return list({(finding.name, finding.subject): finding for finding in reversed(found)}.values())[::-1]
