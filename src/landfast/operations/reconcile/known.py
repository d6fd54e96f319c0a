"""Which deliveries have arrived, where only one of their headers tells: as GitHub's X-GitHub-Delivery."""

from __future__ import annotations

import json
from datetime import datetime

from landfast.domain.filter import Filter
from landfast.domain.summary import Cursor
from landfast.ports.inbox import Archive

FOUND_AT_ONCE = 500


async def known_by_header(archive: Archive, source: str, header: str, since: datetime) -> frozenset[str]:
    """The values of that header in all that this source brought since then. It reads each of them, because headers are
    in no index: about a thousand events a second."""
    values: set[str] = set()
    after: Cursor | None = None
    wanted = Filter(source=source, since=since)
    while found := await archive.find(wanted, limit=FOUND_AT_ONCE, after=after):
        after = Cursor(found[-1].received_at, found[-1].event_id)
        for event in found:
            record = await archive.show(event.event_id)
            if record is not None and record.headers:
                values |= {text for name, text in json.loads(record.headers) if name == header}
    return frozenset(values)
