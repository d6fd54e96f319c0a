"""One event, as an operator names it: by its id, or by the sender's own key."""

from __future__ import annotations

import re

from landfast.domain.errors import UserError
from landfast.domain.filter import Filter
from landfast.domain.ids import EventId
from landfast.domain.summary import EventRecord
from landfast.ports.inbox import Archive


async def find_event(archive: Archive, name: str) -> EventRecord | None:
    """An id is 32 hexadecimal digits, or as many of the first ones, 6 at least, as tell it from every other. A key that
    several sources know needs the source before it: `stripe/evt_1`."""
    if re.fullmatch(r"[0-9a-f]{32}", name):
        record = await archive.show(EventId(bytes.fromhex(name)))
        if record is not None:
            return record
    source, slash, key = name.partition("/")
    by_source = await archive.find(Filter(source=source, key=key), limit=1) if slash and source and key else ()
    found = by_source or await archive.find(Filter(key=name), limit=2)
    if len(found) > 1:
        ways = " or ".join(f"{event.source}/{event.key}" for event in found)
        raise UserError(f"event {name!r}: several sources have this key; write {ways}")
    # A key first: a sender's own may look like the beginning of an id.
    event = found[0].event_id if found else await _by_prefix(archive, name)
    return await archive.show(event) if event is not None else None


async def _by_prefix(archive: Archive, name: str) -> EventId | None:
    if re.fullmatch(r"[0-9a-f]{1,5}", name):
        raise UserError(f"event {name!r}: no key is called so, and of an id at least its first 6 digits are needed")
    if not re.fullmatch(r"[0-9a-f]{6,32}", name):
        return None
    found = await archive.expand(name)
    if len(found) > 1:
        raise UserError(f"event {name!r}: several ids begin so; give more of its digits")
    return found[0] if found else None
