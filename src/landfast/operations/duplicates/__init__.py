"""Find rows that an earlier, broken handler wrote more than once. It reads, and never writes."""

from __future__ import annotations

from landfast.operations.duplicates.reader import Reader, reader_of
from landfast.operations.duplicates.report import Asked, Doubled, Legitimate, Report, find_duplicates

__all__ = ["Asked", "Doubled", "Legitimate", "Reader", "Report", "find_duplicates", "reader_of"]
