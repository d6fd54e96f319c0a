"""Lines of the log: what is said about operators, and about comparisons with a provider's list."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from landfast.log_lines.line import ERROR, INFO, WARNING, Line, line

OPERATIONS: Mapping[str, Line] = MappingProxyType(
    {
        "operator_log_grew": line(
            INFO,
            "line action digest",
            "The operator log has new lines, and the ledger knows the newest one. Keep this line where operators cannot"
            " change it: `landfast audit verify --expect DIGEST` then shows whether the log was cut.",
        ),
        "operator_log_not_ended": line(
            WARNING,
            "action line error",
            "What an operator did is done, and the log could not be told how it ended.",
            "Read the error.",
        ),
        "operator_log_cut": line(
            ERROR,
            "line fix",
            "The ledger knows a line of the operator log that is not there, or the line that it ends with is not: it"
            " was cut or changed, or the inbox was restored.",
            "`landfast audit verify`; after a restore, `landfast audit accept --why ...`.",
        ),
        "operator_log_not_looked_at": line(WARNING, "error", "The operator log could not be read; it is tried again."),
        "reconciled": line(
            INFO,
            "source listed missing taken",
            "The provider's own list was compared with the inbox; what never arrived was taken in.",
        ),
        "reconcile_failed": line(
            WARNING,
            "source error retry_seconds",
            "The provider's list could not be read to its end; it is gone on with later.",
            "Read the error; `landfast reconcile SOURCE --dry-run` tries it by hand.",
        ),
    }
)
