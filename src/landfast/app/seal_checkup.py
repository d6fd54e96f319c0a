"""The checkup of sealing and erasure: does the master key open what is there, and is nothing half erased?"""

from __future__ import annotations

from collections.abc import Sequence

from landfast.app.stores import check_seal, seal_of
from landfast.config import Settings
from landfast.domain.errors import ConfigError
from landfast.ports.inbox import Inbox
from landfast.ports.ledger import Ledger
from landfast.recovery.doctor import Check, Level

AGAIN = "run landfast erase --again"


async def examine_seal(settings: Settings, inbox: Inbox, ledger: Ledger) -> Sequence[Check]:
    """Nothing where nothing is sealed or erased."""
    seal, checks = seal_of(settings), []
    for name, store in (("the inbox", inbox), ("the ledger", ledger)):
        try:
            await check_seal(name, store, seal)
        except ConfigError as error:
            return [Check("seal", Level.FAIL, str(error).removeprefix("seal: "))]
    if seal.store_key is not None:
        keys = [*await inbox.store_keys(), *await ledger.store_keys()]
        old = sum(key.master != seal.store_key.master for key in keys)
        name = f"under the master key {seal.store_key.master}"
        checks.append(Check("seal", Level.OK, f"on, {len(keys) - old} store keys {name}"))
        if old:
            found = f"{old} store keys are still under the master key in seal_old"
            checks.append(Check("seal", Level.WARN, found, "run landfast seal rotate"))
    unclean = sum(not each.is_clean for each in await inbox.erasures())
    if unclean:
        found = f"{unclean} erased events, of which the database's files may still hold something"
        checks.append(Check("erasures", Level.WARN, found, AGAIN))
    return checks
