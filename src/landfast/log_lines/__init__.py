"""Every line that Landfast writes to its log: name, level, fields, what it means, what to do.

`docs/reference/log.md` is drawn from this table. A test fails for a line that is not in it, and for a field that is not
in `FIELDS`. A name stays the same from release to release, so that a rule of an operator's goes on matching (ADR 28).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from landfast.log_lines.alerts import ALERTS
from landfast.log_lines.intake import INTAKE
from landfast.log_lines.layers import LAYERS
from landfast.log_lines.line import FIELDS, Line
from landfast.log_lines.operations import OPERATIONS
from landfast.log_lines.processes import PROCESSES
from landfast.log_lines.processing import PROCESSING

__all__ = ["ALERTS", "FIELDS", "INTAKE", "LAYERS", "LINES", "OPERATIONS", "PROCESSES", "PROCESSING", "Line"]

LINES: Mapping[str, Line] = MappingProxyType({**INTAKE, **LAYERS, **PROCESSING, **PROCESSES, **OPERATIONS, **ALERTS})
