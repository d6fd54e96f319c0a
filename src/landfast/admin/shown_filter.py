"""A filter that finds by what is shown. By what is hidden nobody may find anything: who asks for `message:secret=a*`,
and then for `b*`, has read it after a while."""

from __future__ import annotations

from dataclasses import dataclass, fields

from landfast.domain.filter import Filter
from landfast.domain.redaction import USUAL_ONLY, Redaction


@dataclass(frozen=True, slots=True)
class ShownFilter(Filter):
    redaction: Redaction = USUAL_ONLY

    def says(self, message: str) -> bool:
        return Filter.says(self, message) and Filter.says(self, self.redaction.text(message))


def by_what_is_shown(wanted: Filter, redaction: Redaction) -> Filter:
    """Nothing else that a filter looks at is ever hidden."""
    if wanted.message is None:
        return wanted
    return ShownFilter(**{one.name: getattr(wanted, one.name) for one in fields(Filter)}, redaction=redaction)
