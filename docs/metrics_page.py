"""The page of metrics, drawn from the tables in `telemetry/metrics.py` and `app/metrics.py`."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.app.metrics import READ_FROM_THE_INBOX
from landfast.telemetry.metrics import FAMILIES, Merge

HEAD = """\
# Metrics

What `GET /metrics` answers, in Prometheus's text format ([how to have it asked](../howto/metrics.md)). Drawn from
`src/landfast/telemetry/metrics.py` and `src/landfast/app/metrics.py`.

Counters and histograms are the sum over all processes that `landfast serve` has run on this machine since it began,
also of those that have ended or were killed: none goes backwards while it runs. The last ones are read from the inbox,
which all machines share; they are left out while it is away.

| Metric | Kind | Labels | Means |
|---|---|---|---|
"""

MERGED = {
    Merge.SUM: "",
    Merge.SUM_OF_LIVING: " Of the processes that run.",
    Merge.LARGEST: " The latest of all processes.",
    Merge.LARGEST_OF_LIVING: "",
}


def metrics() -> str:
    counted = [
        _row(family.name, family.kind, family.labels, family.says + MERGED[family.merge])
        for family in FAMILIES.values()
    ]
    read = [_row(name, "gauge", labels.split(), says) for name, (labels, says) in READ_FROM_THE_INBOX.items()]
    return HEAD + "\n".join([*counted, "| *read from the inbox* | | | |", *read]) + "\n"


def _row(name: str, kind: str, labels: Sequence[str], says: str) -> str:
    return f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {says} |"
