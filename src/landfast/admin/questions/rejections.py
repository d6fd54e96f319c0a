"""Requests that were refused: a sample, with what to do about each cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, Rows
from landfast.domain.filter import in_utc
from landfast.domain.rates import REJECTIONS_KEPT, Rejection
from landfast.domain.refusal_causes import fix_of


class RejectionsAsked(Asked):
    source: str | None = None
    since: datetime | None = None
    limit: Rows = 50


class Rejections(Answered):
    rejections: Sequence[Rejection]
    """Newest first: one for each minute, source, cause and address. Nothing of them was proven, so no body is kept, and
    of the headers only the names."""
    fixes: Mapping[str, str]
    """By cause."""
    kept: int
    """So many are kept at most: there may have been more."""


async def rejections(desk: Desk, asked: RejectionsAsked) -> Rejections:
    """Requests that were refused, newest first, with what to do about each cause."""
    since = None if asked.since is None else in_utc(asked.since, "since")
    found = await desk.archive.rejections(since=since, source=asked.source, limit=asked.limit)
    return Rejections(rejections=found, fixes={one.cause: fix_of(one.cause) for one in found}, kept=REJECTIONS_KEPT)
