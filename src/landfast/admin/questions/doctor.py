"""What `landfast doctor` says: the configuration, the secrets, both databases, and what flows."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered
from landfast.admin.route import Nothing
from landfast.app.full_checkup import examine
from landfast.recovery.doctor import Check, is_well


class Checkup(Answered):
    is_well: bool
    checks: Sequence[Check]


async def doctor(desk: Desk, _asked: Nothing) -> Checkup:
    """The configuration, the secrets, both databases and what flows, each with what to do about it."""
    checks = await examine(desk.inbox)
    return Checkup(is_well=is_well(checks), checks=checks)
