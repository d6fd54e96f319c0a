"""A copy of a user's inbox that reaches nothing of the real one: temporary stores, test secrets, a clock to move."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from landfast.app import Inbox
from landfast.app.sources import profile_of, secret_of
from landfast.app.system_clock import SystemClock
from landfast.config import Address, RetentionSettings, SecretSettings, SourceSettings
from landfast.domain.errors import LandfastError
from landfast.testing.sender_secrets import Pair, pair_for


class ShiftedClock(SystemClock):
    """The real clock, ahead by what the test has let pass."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def now(self) -> datetime:
        return super().now() + self.offset

    def monotonic(self) -> float:
        return super().monotonic() + self.offset.total_seconds()


def temporary(inbox: Inbox, folder: Path, clock: ShiftedClock, *, ledger: Address) -> tuple[Inbox, dict[str, Pair]]:
    """The copy, and what the sender of each of its sources signs with."""
    copied = copy.copy(inbox)
    copied.settings = replace(
        inbox.settings,
        store=Address(str(folder / "inbox.db")),
        ledger=ledger,
        concurrency=1,
        workers=1,
        # Nothing of the real one's surroundings.
        redis=None,
        journal=None,
        spool=None,
        seal=None,
        seal_old=None,
        # Samples, and what was recorded once, happened long ago: nothing is held for that here.
        retention=RetentionSettings(memory=math.inf),
    )
    copied.sources, pairs = {}, {}
    for name, source in inbox.sources.items():
        pairs[name] = pair = pair_for(profile_of(source), url=source.public_url)
        secrets = tuple(SecretSettings(value=text) for text in pair.secrets)
        # Nobody waits in a test: its worker runs when the test says so.
        endpoint = None if source.endpoint is None else replace(source.endpoint, wait=0.0)
        copied.sources[name] = replace(source, secrets=secrets, retention=RetentionSettings(), endpoint=endpoint)
    copied.clock = clock
    return copied, pairs


def with_own_secrets(copied: Inbox, original: Mapping[str, SourceSettings]) -> None:
    """Those of the source's own secrets that are there count as well: what was recorded was signed with one of them."""
    for name, source in original.items():
        own = tuple(
            given for number, given in enumerate(source.secrets) if _is_there(source, number, copied.settings.folder)
        )
        mine = copied.sources[name].secrets
        copied.sources[name] = replace(copied.sources[name], secrets=(*mine, *own))


def _is_there(source: SourceSettings, number: int, folder: Path) -> bool:
    try:
        return bool(secret_of(source, number, folder))
    except (LandfastError, OSError):
        return False
